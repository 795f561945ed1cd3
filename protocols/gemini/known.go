package gemini

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// maxKnown limits the size of the certificate file, in bytes. It has room for several hundred
// thousand servers.
const maxKnown = 64 << 20

const maxPins = 1 << 16

type known struct {
	file string // "" means no file

	mu   sync.Mutex
	pins map[string]pin // certificates that are not in the file
}

// A pin is the first certificate received from a server.
type pin struct {
	fingerprint string // SHA-256 of the certificate, in hexadecimal
	expires     time.Time
}

func pinOf(cert *x509.Certificate) pin {
	sum := sha256.Sum256(cert.Raw)
	return pin{hex.EncodeToString(sum[:]), cert.NotAfter.UTC().Truncate(time.Second)}
}

// check returns an error if a different certificate is stored for addr, "host:port", and still
// valid.
func (k *known) check(addr string, cert *x509.Certificate) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, ok, err := k.find(addr)
	now := pinOf(cert)
	if err != nil || !ok || before.fingerprint == now.fingerprint || !time.Now().Before(before.expires) {
		return err
	}
	where := "create a new client"
	if k.file != "" {
		where = "remove the lines that begin with " + addr + " from " + k.file
	}
	return &fetch.Error{Code: fetch.ErrTLS,
		Err: fmt.Errorf("the certificate of %s has changed: its SHA-256 was %s, "+
			"valid until %s, and is %s now",
			addr, before.fingerprint, before.expires.Format(time.DateOnly), now.fingerprint),
		Hint: "verify the change with the operator of the server; to accept the new certificate: " + where}
}

// remember stores the certificate for addr unless it is stored already. If the file cannot be
// written, the certificate is kept for the life of the client.
func (k *known) remember(addr string, cert *x509.Certificate) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := pinOf(cert)
	before, ok, err := k.find(addr)
	if err != nil || ok && before == now {
		return err
	}
	if k.file != "" {
		err := k.add(addr, now)
		if err == nil {
			return nil
		}
		return errors.Join(err, k.pin(addr, now))
	}
	return k.pin(addr, now)
}

func (k *known) pin(addr string, p pin) error {
	if k.pins == nil {
		k.pins = make(map[string]pin)
	}
	if _, ok := k.pins[addr]; !ok && len(k.pins) == maxPins {
		// Replacing an entry would trust its server again without a check.
		return fmt.Errorf("%d certificates are already stored", maxPins)
	}
	k.pins[addr] = p
	return nil
}

func (k *known) find(addr string) (pin, bool, error) {
	if p, ok := k.pins[addr]; ok || k.file == "" {
		return p, ok, nil
	}
	f, err := os.Open(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return pin{}, false, nil
	}
	if err != nil {
		return pin{}, false, fileError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKnown+1))
	switch {
	case err != nil:
		return pin{}, false, fileError(err)
	case len(text) > maxKnown:
		return pin{}, false, fileError(fmt.Errorf("%s has more than %d bytes", k.file, maxKnown))
	}
	p, ok, err := lookUp(text, addr)
	if err != nil {
		err = fileError(fmt.Errorf("%s: %w", k.file, err))
	}
	return p, ok, err
}

func fileError(err error) error {
	return &fetch.Error{Code: fetch.ErrFile, Err: err, Hint: "repair or remove the certificate file"}
}

// lookUp returns the pin in the last line for addr. An incomplete line at the end of the file,
// without a line ending, is ignored.
func lookUp(text []byte, addr string) (found pin, ok bool, err error) {
	n := 0
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return found, ok, nil
		}
		n++
		text = rest
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		p, err := parsePin(fields)
		if err != nil {
			return pin{}, false, fmt.Errorf("line %d: %w", n, err)
		}
		if strings.EqualFold(fields[0], addr) {
			found, ok = p, true
		}
	}
}

func parsePin(fields []string) (p pin, err error) {
	if len(fields) != 4 || fields[1] != "sha256" || len(fields[2]) != 2*sha256.Size {
		return pin{}, errors.New("want HOST:PORT sha256 FINGERPRINT EXPIRY")
	}
	if _, err := hex.DecodeString(fields[2]); err != nil {
		return pin{}, err
	}
	p.fingerprint = strings.ToLower(fields[2])
	p.expires, err = time.Parse(time.RFC3339, fields[3])
	return p, err
}

// add appends a line to the file, in a single write, so that several programs can share the file.
func (k *known) add(addr string, p pin) error {
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(k.file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	line := fmt.Sprintf("%s sha256 %s %s\n", addr, p.fingerprint, p.expires.Format(time.RFC3339))
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			// An earlier write was interrupted, by a full disk or a power failure.
			if err := k.dropUnfinished(f, end); err != nil {
				return err
			}
		}
	}
	if _, err := f.WriteString(line); err != nil {
		return err
	}
	return f.Close()
}

func (k *known) dropUnfinished(f *os.File, end int64) error {
	text := make([]byte, min(end, 4<<10))
	if _, err := f.ReadAt(text, end-int64(len(text))); err != nil {
		return err
	}
	keep := end - int64(len(text)) + int64(bytes.LastIndexByte(text, '\n')) + 1
	return f.Truncate(keep)
}
