package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/filelock"
)

const (
	maxIdentities   = 1000
	maxIdentityName = 64      // bytes
	maxUsesFile     = 1 << 20 // bytes
	identitySuffix  = ".pem"
	usesFile        = "servers"
)

// identities manages the client certificates of the user in a directory. The file NAME.pem holds
// the certificate and the private key of an identity. The file "servers" has a line for each server
// that gets one: scheme, host and port, and the name of the identity.
type identities struct {
	mu  sync.Mutex
	dir string // "" means that there are none
}

type identity struct {
	name string
	cert *tls.Certificate
}

func checkIdentityName(name string) error {
	refused := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_. ", r)
	}
	switch {
	case name == "" || len(name) > maxIdentityName:
		return fmt.Errorf("the name of an identity has 1 to %d bytes", maxIdentityName)
	case name[0] == '.' || strings.TrimSpace(name) != name || strings.ContainsFunc(name, refused):
		return fmt.Errorf("the name %q of an identity has characters other than "+
			"letters, digits, spaces, dots, hyphens and underscores", name)
	}
	return nil
}

// list returns the identities. A file that cannot be read does not hide the others.
func (i *identities) list() (list []identity, err error) {
	if i.dir == "" {
		return nil, nil
	}
	files, wrong := os.ReadDir(i.dir)
	if wrong != nil && !errors.Is(wrong, fs.ErrNotExist) {
		err = wrong
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), identitySuffix)
		if !ok || checkIdentityName(name) != nil || len(list) == maxIdentities {
			continue
		}
		id, wrong := i.read(name)
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		list = append(list, id)
	}
	return list, err
}

func (i *identities) read(name string) (identity, error) {
	if err := checkIdentityName(name); err != nil {
		return identity{}, err
	}
	file := filepath.Join(i.dir, name+identitySuffix)
	cert, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		return identity{}, fmt.Errorf("identity %s: %w", name, err)
	}
	return identity{name, &cert}, nil
}

// add makes an identity: a key on the curve P-256 and a self-signed certificate with the name that does
// not expire (RFC 5280, section 4.1.2.5).
func (i *identities) add(name string) error {
	if i.dir == "" {
		return errors.New("no directory for identities is configured")
	}
	if err := checkIdentityName(name); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	cert := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		NotBefore:   time.Now().Add(-24 * time.Hour), // the clock of the server may be slow
		NotAfter:    time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return err
	}
	return createFile(filepath.Join(i.dir, name+identitySuffix), text)
}

func (i *identities) uses() (map[uri.Origin]string, error) {
	uses := make(map[uri.Origin]string)
	if i.dir == "" {
		return uses, nil
	}
	text, err := readSmall(filepath.Join(i.dir, usesFile), maxUsesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return uses, nil
	}
	if err != nil {
		return uses, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		where, name, ok := strings.Cut(strings.TrimSuffix(line, "\r"), " ")
		if u, err := uri.Parse(where); err == nil && u.Host() != "" && ok && checkIdentityName(name) == nil {
			uses[u.Origin()] = name
		}
	}
	return uses, nil
}

func (i *identities) use(server uri.Origin, name string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer filelock.Guard(filepath.Join(i.dir, usesFile))()
	uses, err := i.uses()
	if err != nil {
		return err
	}
	if delete(uses, server); name != "" {
		if _, err := i.read(name); err != nil {
			return err
		}
		uses[server] = name
	}
	var lines []string
	for server, name := range uses {
		lines = append(lines, serverURL(server)+" "+name+"\n")
	}
	slices.Sort(lines)
	return replaceFile(filepath.Join(i.dir, usesFile), []byte(strings.Join(lines, "")))
}

func serverURL(o uri.Origin) string {
	u, err := uri.Parts{Scheme: o.Scheme, Host: o.Host, Port: o.Port, Path: "/"}.URI()
	if err != nil {
		panic(err) // the origin is that of a URL
	}
	return u.String()
}

func (i *identities) of(server uri.Origin) (identity, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	uses, err := i.uses()
	if err != nil || uses[server] == "" {
		return identity{}, err
	}
	return i.read(uses[server])
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

type identityKey struct{}

// Identify returns the TLS configuration for Options.Client that sends the identity that the user
// chose for a server, and otherwise the certificates of cfg, which may be nil. The other clients of
// a Server must not have it.
func Identify(cfg *tls.Config) *tls.Config {
	if cfg = cfg.Clone(); cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	cfg.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if cert, ok := request.Context().Value(identityKey{}).(*tls.Certificate); ok {
			return cert, nil
		}
		for i := range cfg.Certificates {
			if request.SupportsCertificate(&cfg.Certificates[i]) == nil {
				return &cfg.Certificates[i], nil
			}
		}
		return new(tls.Certificate), nil // sends none
	}
	return cfg
}
