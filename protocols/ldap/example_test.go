package ldap_test

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/ldap"
)

// Without TLS and AllowPlaintext, the driver neither prompts for a password nor connects.
func ExampleWith() {
	c := fetch.New(nil, ldap.With(ldap.Options{}))
	defer c.Close()
	_, err := c.Get(context.Background(), "ldap://directory.example/dc=example?cn?sub?(cn=joe)?!bindname=cn=me")
	fmt.Println(err)
	// Output:
	// get ldap://directory.example/dc=example?cn?sub?(cn=joe)?!bindname=cn=me: authentication failed: the password would be sent in plaintext
}
