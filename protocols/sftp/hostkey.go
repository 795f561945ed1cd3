package sftp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/urlget/urlget/fetch"
)

const systemKnownHosts = "/etc/ssh/ssh_known_hosts"

// maxKnownHosts limits the size of a known_hosts file, in bytes.
const maxKnownHosts = 64 << 20

// knownHosts returns the names of the known_hosts files. New keys are added to the first.
func (d *opener) knownHosts() []string {
	if d.opts.KnownHosts != nil {
		return d.opts.KnownHosts
	}
	files := []string{systemKnownHosts}
	if userFile := sshFile("known_hosts"); userFile != "" {
		files = append([]string{userFile}, files...)
	}
	return files
}

// The algorithms of known keys come first, so that the server presents one of these keys.
func (l *login) hostKeys() (ssh.HostKeyCallback, []string, error) {
	var files []string
	for _, name := range l.driver.knownHosts() {
		switch info, err := os.Stat(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, settingsError("%w", err)
		case info.Size() > maxKnownHosts:
			return nil, nil, settingsError("%s is larger than %d bytes", name, maxKnownHosts)
		default:
			files = append(files, name)
		}
	}
	db, original, err := l.readKnownHosts(files)
	if err != nil {
		return nil, nil, settingsError("%w", err)
	}
	l.knownHostsOf = original
	algorithms := db.HostKeyAlgorithms(l.hop.addr())
	// A line of an authority without a port is valid for all ports, as in OpenSSH.
	anyPort := net.JoinHostPort(l.hop.host, strconv.Itoa(defaultPort))
	for _, name := range db.HostKeyAlgorithms(anyPort) {
		if isCertificate(name) && !slices.Contains(algorithms, name) {
			algorithms = append([]string{name}, algorithms...)
		}
	}
	for _, name := range ssh.SupportedAlgorithms().HostKeys {
		// A certificate is useful only if its authority is known.
		if !isCertificate(name) && !slices.Contains(algorithms, name) {
			algorithms = append(algorithms, name)
		}
	}
	algorithms, err = hostKeyAlgorithms(l.hop.settings.HostKeyAlgorithms, algorithms)
	if err != nil {
		return nil, nil, err
	}
	check := db.HostKeyCallback()
	return func(addr string, remote net.Addr, key ssh.PublicKey) error {
		l.traceLine(false, "host key "+key.Type()+" "+ssh.FingerprintSHA256(key))
		err := check(addr, remote, key)
		var revoked *xknownhosts.RevokedError
		if isCertificate(key.Type()) && err != nil && !errors.As(err, &revoked) {
			if check(anyPort, remote, key) == nil {
				err = nil
			}
		}
		if !isCertificate(key.Type()) {
			err = withoutAuthorities(err, db.HostKeys(addr), key)
		}
		l.hostKeyErr = l.checkHostKey(err, addr, key)
		return l.hostKeyErr
	}, algorithms, nil
}

// withoutAuthorities corrects err, the result of looking up a key that is not a certificate. Package
// knownhosts compares it also with the keys of certificate authorities, which sign host keys and are
// none. Known has all keys of the host.
func withoutAuthorities(err error, known []knownhosts.PublicKey, key ssh.PublicKey) error {
	isHostKey := func(key ssh.PublicKey) bool {
		return slices.ContainsFunc(known, func(k knownhosts.PublicKey) bool {
			return !k.Cert && bytes.Equal(k.Marshal(), key.Marshal())
		})
	}
	var wrong *xknownhosts.KeyError
	switch {
	case err == nil && !isHostKey(key):
		return &xknownhosts.KeyError{}
	case errors.As(err, &wrong):
		want := slices.DeleteFunc(slices.Clone(wrong.Want),
			func(k xknownhosts.KnownKey) bool { return !isHostKey(k.Key) })
		return &xknownhosts.KeyError{Want: want}
	}
	return err
}

func (l *login) checkHostKey(err error, addr string, key ssh.PublicKey) error {
	var revoked *xknownhosts.RevokedError
	var known *xknownhosts.KeyError
	host := knownhosts.Normalize(addr)
	fingerprint := ssh.FingerprintSHA256(key)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return &fetch.Error{Code: fetch.ErrTLS,
			Reason: fetch.Reason{Kind: fetch.ReasonHostKeyChanged, Host: host},
			Err: fmt.Errorf("the host key of %s, %s, is revoked%s", host, fingerprint,
				l.location(revoked.Revoked)),
			Hint: "do not log in: the key may be compromised"}
	case errors.As(err, &known) && len(known.Want) > 0:
		expected := known.Want[0]
		return &fetch.Error{Code: fetch.ErrTLS,
			Reason: fetch.Reason{Kind: fetch.ReasonHostKeyChanged, Host: host},
			Err: fmt.Errorf("the host key of %s has changed: received %s (%s), expected %s%s", host,
				fingerprint, key.Type(),
				ssh.FingerprintSHA256(expected.Key), l.location(expected)),
			Hint: "this may be an attack; verify the fingerprint with the server's administrator " +
				"before you remove the old line from known_hosts"}
	case !errors.As(err, &known):
		return &fetch.Error{Code: fetch.ErrTLS,
			Reason: fetch.Reason{Kind: fetch.ReasonKeyExchange, Host: host},
			Err:    fmt.Errorf("the host key of %s: %w", host, err)}
	}
	if l.driver.opts.TrustKey != nil && !l.foreign {
		resume := l.clock.pause()
		defer resume()
		trusted, err := l.driver.opts.TrustKey(l.clock.ctx,
			HostKey{Host: host, Type: key.Type(), Fingerprint: fingerprint})
		if err != nil {
			return err
		}
		if trusted {
			return l.driver.addKnownHost(addr, key)
		}
	}
	return &fetch.Error{Code: fetch.ErrTLS, Reason: fetch.Reason{Kind: fetch.ReasonHostKey, Host: host},
		Err:  fmt.Errorf("the host key of %s is unknown: %s (%s)", host, fingerprint, key.Type()),
		Hint: "verify the fingerprint with the server's administrator and add the key to a known_hosts file"}
}

// The errors of foreign requests must not reveal local paths.
func (l *login) location(key xknownhosts.KnownKey) string {
	if l.foreign {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", cmp.Or(l.knownHostsOf[key.Filename], key.Filename), key.Line)
}

func (d *opener) addKnownHost(addr string, key ssh.PublicKey) error {
	files := d.knownHosts()
	if len(files) == 0 {
		return nil
	}
	d.knownHostsMu.Lock()
	defer d.knownHostsMu.Unlock()
	if err := os.MkdirAll(filepath.Dir(files[0]), 0o700); err != nil {
		return settingsError("%w", err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return settingsError("%w", err)
	}
	line := knownhosts.Line([]string{addr}, key) + "\n"
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Close()); err != nil {
		return settingsError("%w", err)
	}
	return nil
}
