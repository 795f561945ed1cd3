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

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/urlget/urlget/fetch"
)

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
