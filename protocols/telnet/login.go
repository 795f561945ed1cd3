package telnet

import (
	"regexp"
	"sync"

	"github.com/urlget/urlget/fetch/driver"
)

// maxPrompt is how much of the latest output is searched for a prompt, in bytes.
const maxPrompt = 128

var (
	userPrompt     = prompt(`(?i)(login|user|username|user ?id|account)[ ]*[:>]\s*$`)
	passwordPrompt = prompt(`(?i)(password|passphrase|passcode)[^\n:>]*[:>]\s*$`)
)

// prompt returns an expression that is compiled when a login needs it.
func prompt(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// A loginAnswerer answers the prompts for a user name and a password, each once: a second prompt
// means that the answer was refused, and then the user has to answer.
type loginAnswerer struct {
	cred driver.Credential
	tail []byte
}

// answer takes output of the server and returns what to send, or nil.
func (g *loginAnswerer) answer(p []byte) []byte {
	if g == nil || g.cred == (driver.Credential{}) {
		return nil
	}
	g.tail = append(g.tail, p[max(0, len(p)-maxPrompt):]...)
	g.tail = g.tail[max(0, len(g.tail)-maxPrompt):]
	var word *string
	switch {
	case g.cred.Password != "" && passwordPrompt().Match(g.tail):
		word = &g.cred.Password
	case g.cred.User != "" && userPrompt().Match(g.tail):
		word = &g.cred.User
	default:
		return nil
	}
	reply := []byte(*word + "\r")
	*word, g.tail = "", nil
	return reply
}
