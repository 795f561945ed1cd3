package transcript_test

import (
	"fmt"
	"log"

	"github.com/urlget/urlget/fetchtest/transcript"
)

func ExampleParse() {
	_, err := transcript.Parse("finger.txtar", []byte("-- finger --\nC: alice\nS: Login: alice\nS!close\n"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = transcript.Parse("wrong.txtar", []byte("-- finger --\nalice\n"))
	fmt.Println(err)
	// Output: wrong.txtar:2: not a step of a transcript: "alice"
}
