package netrc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
)

// A client gets credentials from its Source when a server requires a login. Interactive programs use
// Default.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "netrc")
	if err := os.WriteFile(name, []byte("machine ftp.example login joe password secret\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	source := netrc.New(name)
	opts := fetch.Options{Credentials: source} // for fetch.New

	cred, err := opts.Credentials.Credential(context.Background(), fetch.Challenge{URL: uri.MustParse("ftp://ftp.example/")})
	fmt.Println(cred.User, err)
	_, err = opts.Credentials.Credential(context.Background(), fetch.Challenge{URL: uri.MustParse("ftp://other.example/")})
	fmt.Println(errors.Is(err, fetch.ErrAuth))
	// Output:
	// joe <nil>
	// true
}
