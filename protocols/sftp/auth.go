package sftp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
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
	passwords     []string // the passwords so far, one per attempt
	unanswered    string   // a prompt that got no response
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
	keys := ssh.PublicKeysCallback(l.signers)
	interactive := ssh.RetryableAuthMethod(ssh.KeyboardInteractive(l.interactive()), maxTries)
	password := ssh.RetryableAuthMethod(ssh.PasswordCallback(l.password()), maxTries)
	cfg := &ssh.ClientConfig{
		// The default lacks diffie-hellman-group-exchange-sha256, the only secure method of some
		// servers.
		Config:            ssh.Config{KeyExchanges: ssh.SupportedAlgorithms().KeyExchanges},
		User:              l.hop.user,
		Auth:              []ssh.AuthMethod{keys, interactive, password},
		HostKeyCallback:   check,
		HostKeyAlgorithms: algorithms,
		ClientVersion:     "SSH-2.0-urlget",
	}
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

// passwordWords are the words for a password in prompts of PAM and of common devices, in lower case.
var passwordWords = []string{"password", "passphrase", "passwd", "passwort", "kennwort", "mot de passe",
	"contraseña", "contrasenya", "senha", "palavra-passe", "wachtwoord", "lösenord", "passord",
	"adgangskode", "salasana", "hasło", "heslo", "jelszó", "parola", "şifre", "пароль", "密码", "密碼",
	"パスワード", "암호", "비밀번호"}

// otherWords occur in prompts for codes and for a new password.
var otherWords = []string{"one-time", "one time", "otp", "verification", "token", "code", "new pass",
	"retype", "neues", "nouveau", "yes/no"}

func isPasswordPrompt(prompt string) bool {
	prompt = strings.ToLower(prompt)
	in := func(word string) bool { return strings.Contains(prompt, word) }
	return slices.ContainsFunc(passwordWords, in) && !slices.ContainsFunc(otherWords, in)
}

// response requests the response to a prompt that does not ask for a password.
func (l *login) response(prompt string, attempt int) (string, error) {
	cred, err := l.request(fetch.Challenge{Realm: prompt, Question: true, Attempt: attempt})
	if err == nil && cred.Password == "" {
		err = fetch.ErrAuth
	}
	if err != nil {
		l.unanswered = prompt
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

// Both authentication methods use the same sequence of passwords.
func (l *login) secret(prompt string, attempt int) (string, error) {
	for len(l.passwords) < attempt {
		cred, err := l.credential(prompt, len(l.passwords)+1)
		if err != nil {
			return "", err
		}
		if cred.User != "" && cred.User != l.hop.user {
			return "", fetch.ErrAuth // for another user
		}
		if cred.Password == "" {
			return "", fetch.ErrAuth
		}
		l.passwords = append(l.passwords, cred.Password)
	}
	l.hasCredential = true
	return l.passwords[attempt-1], nil
}

// password returns the callback of the method "password" (RFC 4252, section 8).
func (l *login) password() func() (string, error) {
	attempt := 0
	return func() (string, error) {
		attempt++
		l.traceLine(true, "password ****")
		return l.secret("", attempt)
	}
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
			if isPasswordPrompt(q) && !echos[i] {
				attempt++
				response, err = l.secret(q, attempt)
			} else {
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

var defaultIdentities = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// maxIdentity limits the size of a private key file, in bytes.
const maxIdentity = 1 << 20

// signers returns the keys to try, in order: from the options, the agent, and the configuration file
// or ~/.ssh. It returns none for foreign requests.
func (l *login) signers() ([]ssh.Signer, error) {
	if l.foreign {
		return nil, nil
	}
	d := l.driver
	var all []ssh.Signer
	add := func(s ssh.Signer) {
		for _, other := range all {
			if bytes.Equal(other.PublicKey().Marshal(), s.PublicKey().Marshal()) {
				return
			}
		}
		all = append(all, &tracedKey{s, l})
	}
	for _, file := range d.opts.Identities {
		s, err := l.identity(file)
		if err != nil {
			l.fatalErr = settingsError("%w", err)
			return nil, l.fatalErr
		}
		if certified := l.certified(file, s); certified != nil {
			add(certified)
		}
		add(s)
	}
	for _, s := range l.agentKeys() {
		add(s)
	}
	files := l.hop.identities
	if files == nil && !d.opts.NoIdentities {
		for _, name := range defaultIdentities {
			files = append(files, sshFile(name))
		}
	}
	for _, file := range files {
		s, err := l.identity(file)
		switch {
		case err == nil:
			if certified := l.certified(file, s); certified != nil {
				add(certified)
			}
			add(s)
		case !errors.Is(err, fs.ErrNotExist):
			d.env.Logger().Info("cannot use a private key file", "file", file, "error", err)
		}
	}
	l.hasCredential = l.hasCredential || len(all) > 0
	return all, nil
}

func (l *login) agentKeys() []ssh.Signer {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" || l.driver.opts.NoAgent {
		return nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(l.clock.ctx, "unix", socket)
	if err == nil {
		l.agent = conn
		context.AfterFunc(l.clock.ctx, func() { conn.Close() })
		var keys []ssh.Signer
		if keys, err = agent.NewClient(conn).Signers(); err == nil {
			return keys
		}
	}
	l.driver.env.Logger().Info("cannot use the SSH agent", "error", err)
	return nil
}

// The passphrase is requested only after the server has accepted the public key.
func (l *login) identity(file string) (ssh.Signer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pem, err := io.ReadAll(io.LimitReader(f, maxIdentity))
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(pem)
	var missing *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return s, nil
	case !errors.As(err, &missing):
		return nil, fmt.Errorf("%s: %w", file, err)
	case missing.PublicKey != nil:
		return &lockedKey{login: l, file: file, pem: pem, public: missing.PublicKey}, nil
	}
	return l.unlock(file, pem)
}

// certified returns the key of a file with the certificate beside it, as of ssh-keygen -s, or nil.
func (l *login) certified(file string, key ssh.Signer) ssh.Signer {
	file += "-cert.pub"
	cert, err := readCertificate(file)
	if err == nil {
		var s ssh.Signer
		if s, err = ssh.NewCertSigner(cert, key); err == nil {
			return s
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.driver.env.Logger().Info("cannot use a certificate", "file", file, "error", err)
	}
	return nil
}

func readCertificate(file string) (*ssh.Certificate, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIdentity))
	if err != nil {
		return nil, err
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, err
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, errors.New("not a certificate")
	}
	return cert, nil
}

func (l *login) unlock(file string, pem []byte) (ssh.Signer, error) {
	l.lockedFile = file
	if l.driver.opts.Passphrase == nil {
		return nil, fmt.Errorf("%s is protected by a passphrase", file)
	}
	resume := l.clock.pause()
	defer resume()
	passphrase, err := l.driver.opts.Passphrase(l.clock.ctx, file)
	if err != nil {
		if fetch.CodeOf(err) == fetch.ErrInterrupted {
			l.fatalErr = err
		}
		return nil, err
	}
	s, err := ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	l.lockedFile = ""
	return s, nil
}

type lockedKey struct {
	login  *login
	file   string
	pem    []byte
	public ssh.PublicKey
	signer ssh.Signer
}

func (k *lockedKey) PublicKey() ssh.PublicKey { return k.public }

func (k *lockedKey) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(r, data, "")
}

func (k *lockedKey) SignWithAlgorithm(r io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if k.signer == nil {
		s, err := k.login.unlock(k.file, k.pem)
		if err != nil {
			return nil, err
		}
		k.signer = s
	}
	return signWith(k.signer, r, data, algorithm)
}

// signWith signs data with an algorithm. "" means the default algorithm of the key.
func signWith(s ssh.Signer, r io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if r == nil {
		r = rand.Reader
	}
	if as, ok := s.(ssh.AlgorithmSigner); ok && algorithm != "" {
		return as.SignWithAlgorithm(r, data, algorithm)
	}
	return s.Sign(r, data)
}

// A tracedKey writes a trace line before each signature.
type tracedKey struct {
	ssh.Signer
	login *login
}

func (k *tracedKey) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(r, data, "")
}

func (k *tracedKey) SignWithAlgorithm(r io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	key := k.PublicKey()
	k.login.traceLine(true, "key "+key.Type()+" "+ssh.FingerprintSHA256(key))
	return signWith(k.Signer, r, data, algorithm)
}

func (l *login) loginError() error {
	e := &fetch.Error{Code: fetch.ErrAuth,
		Reason: fetch.Reason{Kind: fetch.ReasonSSHLogin, Host: l.hop.host},
		Err:    fmt.Errorf("the server rejected the login as %s", l.hop.user),
		Hint:   "start the SSH agent, or supply a private key or a password"}
	if !l.hasCredential {
		e.Err = fmt.Errorf("no private key and no password to log in as %s", l.hop.user)
	}
	if l.unanswered != "" {
		e.Err = fmt.Errorf("the server asks %q, which is not a prompt for a password", l.unanswered)
		e.Hint = "answer it in a terminal"
	}
	if l.lockedFile != "" {
		e.Reason, e.Hint = fetch.Reason{},
			l.lockedFile+" is protected by a passphrase: add the key to the SSH agent"
	}
	return e
}
