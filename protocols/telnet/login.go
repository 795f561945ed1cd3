package telnet

import (
	"regexp"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// maxPrompt limits the latest output that is searched for a prompt, in bytes.
const maxPrompt = 128

var (
	userPrompt     = prompt(`(?i)(login|user|username|user ?id|account)[ ]*[:>]\s*$`)
	passwordPrompt = prompt(`(?i)(password|passphrase|passcode)[^\n:>]*[:>]\s*$`)
)

func prompt(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// An autoLogin responds to the prompts for a user name and a password, once each. A second
// prompt means that the server refused them, and the user must respond.
type autoLogin struct {
	cred fetch.Credential
	tail []byte
}

func (g *autoLogin) respond(p []byte) []byte {
	if g == nil || g.cred == (fetch.Credential{}) {
		return nil
	}
	g.tail = append(g.tail, p[max(0, len(p)-maxPrompt):]...)
	g.tail = g.tail[max(0, len(g.tail)-maxPrompt):]
	var field *string
	switch {
	case g.cred.Password != "" && passwordPrompt().Match(g.tail):
		field = &g.cred.Password
	case g.cred.User != "" && userPrompt().Match(g.tail):
		field = &g.cred.User
	default:
		return nil
	}
	reply := []byte(*field + "\r")
	*field, g.tail = "", nil
	return reply
}
