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
)

var defaultIdentities = []string{"id_ed25519", "id_ecdsa", "id_rsa"}

// maxIdentity limits the size of a file with a key or a certificate, in bytes.
const maxIdentity = 1 << 20

// A keyring collects the keys to try, in order.
type keyring struct {
	login *login
	// agent has the keys and certificates of the agent. They are preferred to equal keys of files,
	// which may need a passphrase.
	agent        []ssh.Signer
	certificates []*ssh.Certificate // of CertificateFile
	signers      []ssh.Signer
}

// signers returns the keys to try: from the options, from files that the agent holds the key of, from
// the agent, and from other files of the configuration file or ~/.ssh. Servers accept few attempts,
// so keys that the user names precede others. It returns none for foreign requests.
func (l *login) signers() ([]ssh.Signer, error) {
	if l.foreign {
		return nil, nil
	}
	d, settings := l.driver, l.hop.settings
	r := &keyring{login: l, agent: l.agentKeys()}
	for _, file := range settings.CertificateFiles {
		cert, err := readCertificate(file)
		if err != nil {
			l.logUnusable("certificate", file, err)
			continue
		}
		r.certificates = append(r.certificates, cert)
	}
	var named []ssh.PublicKey
	for _, file := range d.opts.Identities {
		s, err := r.read(file)
		if err != nil {
			l.fatalErr = settingsError("%w", err)
			return nil, l.fatalErr
		}
		named = append(named, s.PublicKey())
		r.add(file, s)
	}
	files := settings.IdentityFiles
	if files == nil && !d.opts.NoIdentities {
		for _, name := range defaultIdentities {
			files = append(files, sshFile(name))
		}
	}
	later := map[string]ssh.Signer{}
	for _, file := range files {
		s, err := r.read(file)
		if err != nil {
			l.logUnusable("private key", file, err)
			continue
		}
		named = append(named, s.PublicKey())
		if r.held(s.PublicKey()) != nil {
			r.add(file, s)
		} else {
			later[file] = s
		}
	}
	for _, s := range r.agent {
		isNamed := slices.ContainsFunc(named, func(key ssh.PublicKey) bool {
			return equalKeys(key, plain(s.PublicKey()))
		})
		if isNamed || !settings.IdentitiesOnly {
			r.add("", s)
		}
	}
	for _, file := range files {
		if s := later[file]; s != nil {
			r.add(file, s)
		}
	}
	l.offered = len(r.signers)
	l.hasCredential = l.hasCredential || l.offered > 0
	return r.signers, nil
}

// A missing file is usual: most of the default names are.
func (l *login) logUnusable(kind, file string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.driver.env.Logger().Info("cannot use a "+kind+" file", "file", file, "error", err)
	}
}

// read returns the key of a file, from the agent if that holds it. The file may then have only the
// public key, as for keys on tokens. The public key beside a file tells that the agent holds the key
// without the passphrase that older formats need for it.
func (r *keyring) read(file string) (ssh.Signer, error) {
	public, err := readPublicKey(file)
	if err != nil {
		public, err = readPublicKey(file + ".pub")
	}
	if err == nil {
		if s := r.held(public); s != nil {
			return s, nil
		}
	}
	s, err := r.login.identity(file)
	if err != nil {
		return nil, err
	}
	if held := r.held(s.PublicKey()); held != nil {
		return held, nil
	}
	return s, nil
}

// held returns the signer of the agent for a key, or nil.
func (r *keyring) held(key ssh.PublicKey) ssh.Signer {
	for _, s := range r.agent {
		if equalKeys(s.PublicKey(), key) {
			return s
		}
	}
	return nil
}

// add adds a key after its certificates: those of CertificateFile, and that beside its file.
func (r *keyring) add(file string, key ssh.Signer) {
	for _, cert := range r.certificates {
		if equalKeys(cert.Key, key.PublicKey()) {
			r.addCertified(cert, key)
		}
	}
	if file != "" {
		file += "-cert.pub" // as of ssh-keygen -s
		cert, err := readCertificate(file)
		if err == nil && !equalKeys(cert.Key, key.PublicKey()) {
			err = errors.New("the certificate is for another key")
		}
		if err == nil {
			r.addCertified(cert, key)
		} else {
			r.login.logUnusable("certificate", file, err)
		}
	}
	r.addSigner(key)
}

func (r *keyring) addCertified(cert *ssh.Certificate, key ssh.Signer) {
	if s, err := ssh.NewCertSigner(cert, key); err == nil {
		r.addSigner(s)
	}
}

func (r *keyring) addSigner(s ssh.Signer) {
	key := s.PublicKey()
	algorithms := signatureAlgorithms(r.login.hop.settings.PubkeyAcceptedAlgorithms, key)
	isNew := !slices.ContainsFunc(r.signers,
		func(other ssh.Signer) bool { return equalKeys(other.PublicKey(), key) })
	if isNew && len(algorithms) > 0 {
		r.signers = append(r.signers, &offeredKey{Signer: s, login: r.login, algorithms: algorithms})
	}
}

func equalKeys(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// plain returns the key of a certificate, and other keys as they are.
func plain(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

// agentSocket returns the socket that IdentityAgent names, or "" without an agent.
func agentSocket(setting string) string {
	const variable = "SSH_AUTH_SOCK"
	switch {
	case setting == "", setting == variable:
		return os.Getenv(variable)
	case strings.EqualFold(setting, "none"):
		return ""
	case setting[0] == '$':
		return os.ExpandEnv(setting)
	}
	return setting
}

func (l *login) agentKeys() []ssh.Signer {
	socket := agentSocket(l.hop.settings.IdentityAgent)
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
	pem, err := readKeyFile(file)
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

func readCertificate(file string) (*ssh.Certificate, error) {
	public, err := readPublicKey(file)
	if err != nil {
		return nil, err
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, errors.New("not a certificate")
	}
	return cert, nil
}

// readPublicKey reads a file with a public key or a certificate, in the format of authorized_keys.
func readPublicKey(file string) (ssh.PublicKey, error) {
	text, err := readKeyFile(file)
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	return key, err
}

func readKeyFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxIdentity))
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

// An offeredKey signs with some of the algorithms of a key, and writes a trace line before each
// signature.
type offeredKey struct {
	ssh.Signer
	login      *login
	algorithms []string
}

func (k *offeredKey) Algorithms() []string { return k.algorithms }

func (k *offeredKey) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(r, data, "")
}

func (k *offeredKey) SignWithAlgorithm(r io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	key := k.PublicKey()
	k.login.traceLine(true, "key "+key.Type()+" "+ssh.FingerprintSHA256(key))
	return signWith(k.Signer, r, data, algorithm)
}
