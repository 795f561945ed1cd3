package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// hint returns the hint for an error. The library has hints for any program; hint translates its
// reasons to the flags of this one.
func hint(e *fetch.Error) string {
	r := e.Reason
	switch r.Kind {
	case driver.ReasonPort:
		return fmt.Sprintf("use --allow-port %d to allow it", r.Port)
	case driver.ReasonPrivate:
		return "use --allow-private to allow it"
	case driver.ReasonRedirect:
		return "use --allow-redirect " + r.Scheme + " to allow it"
	case driver.ReasonNoDriver:
		use := "use --gateway " + r.Scheme + "=URL to retrieve it through a gateway"
		if strings.HasPrefix(r.Scheme, "x-") {
			use = "install a driver program urlget-" + r.Scheme + " in PATH, or " + use
		}
		return use
	case driver.ReasonPlaintext:
		return e.Hint + ", or --allow-plaintext-login"
	case driver.ReasonNoLogin:
		return "use --user and --password, or a netrc file"
	case driver.ReasonAccount:
		return "use --ftp-account NAME to send an account"
	case driver.ReasonNewsServer:
		return "use --news-server" + strings.TrimPrefix(e.Hint, "set the news server in the options")
	case driver.ReasonMailbox:
		return "use --mailbox FILE to search a mailbox"
	case driver.ReasonMailDraft:
		return "use --compose to print a message draft, or --mailbox FILE to list messages to and from the address"
	case driver.ReasonForm:
		use := "use --form 'NAME=VALUE' to fill it in"
		var form *fetch.FormError
		if errors.As(e, &form) && slices.ContainsFunc(form.Form.Fields, isFile) {
			use += ", or --form-file 'NAME=FILE' to send a file"
		}
		return use + strings.TrimPrefix(e.Hint, "answer it")
	case driver.ReasonNotBeginning:
		return "use -O " + r.File + " to replace it"
	case driver.ReasonHostKey:
		return e.Hint + " (~/.ssh/known_hosts, or --known-hosts FILE); at a terminal, urlget asks"
	case driver.ReasonIdentity:
		return "use --certificate FILE, and --private-key FILE unless the same file has the key"
	case driver.ReasonSSHLogin:
		return "start an SSH agent, or use --identity FILE, or --user and --password"
	case driver.ReasonProxy:
		return "use --no-proxy to connect directly"
	}
	return e.Hint
}

func isFile(f fetch.Field) bool { return f.Kind == fetch.FieldFile }
