package embedded_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// Start a server in this process. Other processes find it by its directory.
func ExampleStart() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := embedded.Start(dir, true)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	url, longRunning := embedded.Find(dir)
	fmt.Println(url == s.URL(), longRunning)
	_, err = embedded.Start(dir, true)
	fmt.Println(errors.Is(err, embedded.ErrRuns))
	// Output:
	// true true
	// true
}
