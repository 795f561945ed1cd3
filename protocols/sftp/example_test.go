package sftp_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/protocols/sftp"
)

// List a directory of a server whose host key is unknown.
func ExampleWith() {
	s, err := sftpd.New(sftpd.Options{Users: map[string]string{"joe": "secret"}, Tree: fstest.MapFS{"pub/readme.txt": {Data: []byte("Read me.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c := fetch.New(nil, sftp.With(sftp.Options{
		NoAgent: true, NoIdentities: true, NoConfig: true,
		KnownHosts: []string{filepath.Join(dir, "known_hosts")},
		TrustKey:   func(_ context.Context, key sftp.HostKey) (bool, error) { return true, nil }, // a real program prompts the user
	}))
	defer c.Close()
	for e, err := range c.List(context.Background(), "sftp://joe:secret@"+s.Addr+"/pub/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, e.Name, e.Size)
	}
	// Output:
	// object readme.txt 9
}
