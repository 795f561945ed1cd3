package sftp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/prompt"
)

// maxTries limits the attempts with a password, for each of the two methods that send one.
const maxTries = 3

// A login is the authentication to one hop.
type login struct {
	driver  *opener
	ctx     context.Context // of the request, without the connect timeout
	clock   *clock
	hop     hop
	foreign bool

	agent         net.Conn
	hasCredential bool     // a key or a password was available
	offered       int      // keys that may be tried
	passwords     []string // the passwords so far, one per attempt
	trial         *trial   // of the last one; nil if its result is known
	questioned    bool     // the server has asked for something else, whose answer may be the wrong one
	already       bool     // a password was not sent, because the server refused it before
	unanswered    string   // a prompt that got no response
	isPending     bool     // a password was sent, and the server has not asked for another
	expired       bool     // the server asks for a new password
	lockedFile    string   // an encrypted key file whose passphrase was not supplied
	hostKeyErr    error    // the error if the host key was rejected
	// knownHostsOf has the names of known_hosts files by those of copies.
	knownHostsOf map[string]string
	fatalErr     error // the local error that ends the login, regardless of the server
}

func (l *login) traceLine(sent bool, text string) {
	if trace := driver.Line(l.ctx); trace != nil {
		trace(sent, text)
	}
}

func (l *login) config() (*ssh.ClientConfig, error) {
	if l.hop.user == "" {
		cred, err := l.credential("", 1)
		if err != nil || cred.User == "" {
			return nil, &fetch.Error{Code: fetch.ErrAuth,
				Reason: fetch.Reason{Kind: fetch.ReasonSSHLogin, Host: l.hop.host},
				Err:    errors.New("no user name to log in with"), Hint: "name the user in the URL"}
		}
		l.hop.user, l.passwords = cred.User, []string{cred.Password}
	}
	check, algorithms, err := l.hostKeys()
	if err != nil && l.foreign {
		l.driver.env.Logger().Error("cannot read the known host keys", "error", err)
		return nil, settingsError("cannot read the known host keys")
	}
	if err != nil {
		return nil, err
	}
	l.traceLine(true, "log in as "+l.hop.user)
	config, err := transport(l.hop.settings)
	if err != nil {
		return nil, err
	}
	keys := ssh.PublicKeysCallback(l.signers)
	interactive := ssh.RetryableAuthMethod(ssh.KeyboardInteractive(l.interactive()), maxTries)
	password := ssh.RetryableAuthMethod(ssh.PasswordCallback(l.password()), maxTries)
	cfg := &ssh.ClientConfig{
		Config:            config,
		User:              l.hop.user,
		Auth:              []ssh.AuthMethod{keys, interactive, password},
		HostKeyCallback:   check,
		HostKeyAlgorithms: algorithms,
		ClientVersion:     "SSH-2.0-urlget",
	}
	cfg.AuthCallback = l.afterMethod
	if _, hasPassword := l.hop.url.Password(); hasPassword {
		cfg.Auth = []ssh.AuthMethod{password, interactive, keys}
	}
	return cfg, nil
}

func (l *login) done() {
	if l.agent != nil {
		l.agent.Close()
	}
}

// response requests the response to a prompt that does not ask for a password.
func (l *login) response(question string, attempt int) (string, error) {
	cred, err := l.request(fetch.Challenge{Realm: question, Question: true, Attempt: attempt})
	if err == nil && cred.Password == "" {
		err = fetch.ErrAuth
	}
	if err != nil {
		l.unanswered, l.expired = question, prompt.IsNewPassword(question)
	}
	return cred.Password, err
}

func (l *login) credential(prompt string, attempt int) (fetch.Credential, error) {
	return l.request(fetch.Challenge{Realm: prompt, Attempt: attempt})
}

func (l *login) request(ch fetch.Challenge) (fetch.Credential, error) {
	resume := l.clock.pause()
	defer resume()
	ch.URL, ch.Mechanism, ch.User = l.hop.url, "ssh", l.hop.user
	cred, err := l.driver.env.Credential(l.clock.ctx, ch)
	if err != nil && fetch.CodeOf(err) != fetch.ErrAuth {
		l.fatalErr = err
	}
	return cred, err
}

// password returns the callback of the method "password" (RFC 4252, section 8).
func (l *login) password() func() (string, error) {
	attempt, calls := 0, 0
	return func() (string, error) {
		calls++
		secret, err := l.secret(passwordMethod, "", &attempt)
		if err == nil {
			l.traceLine(true, "password ****")
		}
		l.isPending = err == nil && calls < maxTries
		return secret, err
	}
}

// afterMethod is called after each authentication method. If the method "password" failed although
// more attempts were allowed, the server answered neither with a success nor with a failure. The
// only other response is a request to change the password (RFC 4252, section 8).
func (l *login) afterMethod(done *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	if l.isPending && slices.Contains(done.TriedMethods, passwordMethod) {
		l.expired = true
	}
	l.settleMethod(done)
	return nil, nil
}

// maxRounds limits the requests of the server in all attempts with keyboard-interactive.
const maxRounds = 20

// interactive returns the callback of the method "keyboard-interactive" (RFC 4256). It responds to
// prompts for a password with the passwords in turn. For other prompts it requests a response.
func (l *login) interactive() ssh.KeyboardInteractiveChallenge {
	attempt, rounds, questions := 0, 0, make(map[string]int)
	return func(_, _ string, prompts []string, echos []bool) ([]string, error) {
		if rounds++; rounds > maxRounds {
			return nil, errors.New("the server does not end the keyboard-interactive login")
		}
		responses := make([]string, len(prompts))
		for i, q := range prompts {
			q = strings.TrimSpace(fetch.Printable(q))
			l.traceLine(false, "prompt: "+q)
			var response string
			var err error
			if prompt.IsPassword(q) && !echos[i] {
				response, err = l.secret(interactiveMethod, q, &attempt)
			} else {
				l.settle(unclear)
				l.questioned = true
				questions[q]++
				response, err = l.response(q, questions[q])
			}
			if err != nil {
				return nil, err
			}
			l.traceLine(true, "response ****")
			responses[i] = response
		}
		return responses, nil
	}
}

// loginError returns the error of a rejected login. Reply is what the server said last, if anything.
func (l *login) loginError(reply fetch.Reply) error {
	e := &fetch.Error{Code: fetch.ErrAuth, Reply: reply,
		Reason: fetch.Reason{Kind: fetch.ReasonSSHLogin, Host: l.hop.host},
		Err:    fmt.Errorf("the server rejected the login as %s", l.hop.user),
		Hint:   "start the SSH agent, or supply a private key or a password"}
	switch {
	case l.expired:
		e.Reason, e.Err = fetch.Reason{}, fmt.Errorf("the password of %s has expired", l.hop.user)
		e.Hint = "set a new one with ssh"
	case l.unanswered != "":
		e.Err = fmt.Errorf("the server asks %q, which is not a prompt for a password", l.unanswered)
		e.Hint = "answer it in a terminal"
	case l.already && !l.hasCredential:
		e.Reason, e.Hint = fetch.Reason{}, ""
		e.Err = fmt.Errorf("the password of %s was already refused", l.hop.user)
	case !l.hasCredential:
		e.Err = fmt.Errorf("no private key and no password to log in as %s", l.hop.user)
	case reply.Text != "" && l.offered > 1:
		e.Reason = fetch.Reason{}
		e.Hint = fmt.Sprintf("offer fewer keys than %d: name one, with IdentitiesOnly in ~/.ssh/config",
			l.offered)
	}
	if l.lockedFile != "" {
		e.Reason, e.Hint = fetch.Reason{},
			l.lockedFile+" is protected by a passphrase: add the key to the SSH agent"
	}
	return e
}
