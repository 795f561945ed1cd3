package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// hint returns what the user can do about an error. The library says it in words that suit any
// program; its reasons are translated to the flags of this one.
func hint(e *fetch.Error) string {
	r := e.Reason
	switch r.Kind {
	case fetch.ReasonPort:
		return fmt.Sprintf("allow it with --allow-port %d", r.Port)
	case fetch.ReasonPrivate:
		return "allow it with --allow-private"
	case fetch.ReasonRedirect:
		return "allow it with --allow-redirect " + r.Scheme
	case fetch.ReasonNoDriver:
		use := "map it to a gateway (--gateway " + r.Scheme + "=URL)"
		if strings.HasPrefix(r.Scheme, "x-") {
			use = "put a program urlget-" + r.Scheme + " on PATH, or " + use
		}
		return use
	case fetch.ReasonPlaintext:
		return e.Hint + ", or allow it with --allow-plaintext-login"
	case fetch.ReasonNoLogin:
		return "give --user and --password, or use .netrc"
	case fetch.ReasonAccount:
		return "name an account with --ftp-account"
	case fetch.ReasonNewsServer:
		return "name one with --news-server" + strings.TrimPrefix(e.Hint, "name one in the options")
	case fetch.ReasonMailbox:
		return "name one with --mailbox"
	case fetch.ReasonMailDraft:
		return "--compose prints a message to send, --mailbox lists messages to and from the address"
	case fetch.ReasonForm:
		use := "answer with --form 'NAME=VALUE'"
		var form *fetch.FormError
		if errors.As(e, &form) && slices.ContainsFunc(form.Form.Fields, isFile) {
			use += ", or --form-file 'NAME=FILE' for a file to send"
		}
		return use + strings.TrimPrefix(e.Hint, "answer it")
	case fetch.ReasonNotBeginning:
		return "to replace it: -O " + r.File
	case fetch.ReasonHostKey:
		return e.Hint + " (~/.ssh/known_hosts, or --known-hosts FILE); at a terminal, urlget asks"
	case fetch.ReasonSSHLogin:
		return "start the SSH agent, name a key with --identity, or give --user and --password"
	case fetch.ReasonProxy:
		return "reach the host directly with --no-proxy"
	}
	return e.Hint
}

func isFile(f fetch.Field) bool { return f.Kind == fetch.FieldFile }
