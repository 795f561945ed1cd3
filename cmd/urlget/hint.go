package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// hint returns the hint for an error. The library has hints for any program; hint translates its
// reasons to the flags of this one.
func hint(e *fetch.Error) string {
	r := e.Reason
	switch r.Kind {
	case fetch.ReasonPort:
		return fmt.Sprintf("use --allow-port %d to allow it", r.Port)
	case fetch.ReasonPrivate:
		return "use --allow-private to allow it"
	case fetch.ReasonRedirect:
		return "use --allow-redirect " + r.Scheme + " to allow it"
	case fetch.ReasonNoDriver:
		use := "use --gateway " + r.Scheme + "=URL to retrieve it through a gateway"
		if strings.HasPrefix(r.Scheme, "x-") {
			use = "install a driver program urlget-" + r.Scheme + " in PATH, or " + use
		}
		return use
	case fetch.ReasonPlaintext:
		return e.Hint + ", or --allow-plaintext-login"
	case fetch.ReasonNoLogin:
		return "use --user and --password, or a netrc file"
	case fetch.ReasonAccount:
		return "use --ftp-account NAME to send an account"
	case fetch.ReasonNewsServer:
		return "use --news-server" + strings.TrimPrefix(e.Hint, "set the news server in the options")
	case fetch.ReasonMailbox:
		return "use --mailbox FILE to search a mailbox"
	case fetch.ReasonMailDraft:
		return "use --compose to print a message draft, or --mailbox FILE to list messages to and from the address"
	case fetch.ReasonForm:
		use := "use --form 'NAME=VALUE' to fill it in"
		var form *fetch.FormError
		if errors.As(e, &form) && slices.ContainsFunc(form.Form.Fields, isFile) {
			use += ", or --form-file 'NAME=FILE' to send a file"
		}
		return use + strings.TrimPrefix(e.Hint, "answer it")
	case fetch.ReasonNotBeginning:
		return "use -O " + r.File + " to replace it"
	case fetch.ReasonHostKey:
		return e.Hint + " (~/.ssh/known_hosts, or --known-hosts FILE); at a terminal, urlget asks"
	case fetch.ReasonIdentity:
		return "use --certificate FILE, and --private-key FILE unless the same file has the key"
	case fetch.ReasonSSHLogin:
		return "start an SSH agent, or use --identity FILE, or --user and --password"
	case fetch.ReasonProxy:
		return "use --no-proxy to connect directly"
	}
	return e.Hint
}

func isFile(f fetch.Field) bool { return f.Kind == fetch.FieldFile }
