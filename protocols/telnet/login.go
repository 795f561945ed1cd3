package telnet

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/prompt"
)

// maxPrompt limits the latest output that is searched for a prompt, in bytes.
const maxPrompt = 128

var userPrompt = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(login|user|username|user ?id|account)[ ]*[:>]\s*$`)
})

// asksPassword reports whether the last line of output is a prompt for the present password.
func asksPassword(output []byte) bool {
	line := bytes.TrimSpace(output)
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	return len(line) > 0 && bytes.IndexByte([]byte(":>"), line[len(line)-1]) >= 0 &&
		prompt.IsPassword(string(line))
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
	case g.cred.Password != "" && asksPassword(g.tail):
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
