package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// hint returns what the user can do about an error. The library says it in words that suit any
// program; its reasons are translated to the flags of this one.
func hint(e *fetch.Error) string {
	r := e.Reason
	switch r.Kind {
	case driver.ReasonPort:
		return fmt.Sprintf("allow it with --allow-port %d", r.Port)
	case driver.ReasonPrivate:
		return "allow it with --allow-private"
	case driver.ReasonRedirect:
		return "allow it with --allow-redirect " + r.Scheme
	case driver.ReasonNoDriver:
		use := "map it to a gateway (--gateway " + r.Scheme + "=URL)"
		if strings.HasPrefix(r.Scheme, "x-") {
			use = "put a program urlget-" + r.Scheme + " on PATH, or " + use
		}
		return use
	case driver.ReasonPlaintext:
		return e.Hint + ", or allow it with --allow-plaintext-login"
	case driver.ReasonNoLogin:
		return "give --user and --password, or use .netrc"
	case driver.ReasonAccount:
		return "name an account with --ftp-account"
	case driver.ReasonNewsServer:
		return "name one with --news-server" + strings.TrimPrefix(e.Hint, "name one in the options")
	case driver.ReasonMailbox:
		return "name one with --mailbox"
	case driver.ReasonMailDraft:
		return "--compose prints a message to send, --mailbox lists messages to and from the address"
	case driver.ReasonForm:
		use := "answer with --form 'NAME=VALUE'"
		var form *fetch.FormError
		if errors.As(e, &form) && slices.ContainsFunc(form.Form.Fields, isFile) {
			use += ", or --form-file 'NAME=FILE' for a file to send"
		}
		return use + strings.TrimPrefix(e.Hint, "answer it")
	case driver.ReasonNotBeginning:
		return "to replace it: -O " + r.File
	case driver.ReasonHostKey:
		return e.Hint + " (~/.ssh/known_hosts, or --known-hosts FILE); at a terminal, urlget asks"
	case driver.ReasonSSHLogin:
		return "start the SSH agent, name a key with --identity, or give --user and --password"
	case driver.ReasonProxy:
		return "reach the host directly with --no-proxy"
	}
	return e.Hint
}

func isFile(f fetch.Field) bool { return f.Kind == fetch.FieldFile }
