package capture

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// maxSeen bounds how many payloads are remembered. Those that were met first stay.
const maxSeen = 1 << 20

// Seen remembers which payloads are in archives. It may be used by many goroutines; a nil one knows
// nothing.
type Seen struct {
	mu   sync.Mutex
	list map[string]earlier // by digest
}

// earlier is a record that has a payload.
type earlier struct {
	url     string
	date    time.Time
	id      string        // "" if it is not known
	settled chan struct{} // is closed when it is written, or will not be; nil if it is there
}

// NewSeen returns a Seen without payloads.
func NewSeen() *Seen { return &Seen{list: make(map[string]earlier)} }

// errFull ends the reading of an index.
var errFull = errors.New("enough")

// ErrDigests is the error of Load for an index that is of no use.
var ErrDigests = errors.New("capture: index with digests other than SHA-256")

// Load adds the payloads of a CDXJ index. What is none is warc.ErrNoIndex.
func (s *Seen) Load(index io.Reader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	digests, known := 0, 0
	err := warc.ReadIndex(index, func(e warc.IndexEntry) error {
		if len(s.list) >= maxSeen {
			return errFull
		}
		if e.Digest == "" || e.Mime == "warc/revisit" || e.Date.IsZero() {
			return nil
		}
		digests++
		digest, ok := sha256Of(e.Digest)
		if !ok {
			return nil
		}
		known++
		if _, ok := s.list[digest]; !ok {
			s.list[digest] = earlier{url: e.URL, date: e.Date}
		}
		return nil
	})
	switch {
	case err == nil && digests > 0 && known == 0:
		return ErrDigests
	case err == errFull:
		return nil
	}
	return err
}

// Add notes a record that is in an archive, if it has a payload that is whole.
func (s *Seen) Add(h *warc.Header) {
	digest, ok := sha256Of(h.Get("WARC-Payload-Digest"))
	whole := h.Get("WARC-Truncated") == "" && h.Get("WARC-Segment-Number") == ""
	if s == nil || !ok || !whole || h.Type() != warc.Response && h.Type() != warc.Resource || h.Date().IsZero() {
		return
	}
	s.remember(h, digest)
}

// remember returns the record that has the payload with that digest. If there is none, it is the one
// that the header is of, from now on.
func (s *Seen) remember(h *warc.Header, digest string) (e earlier, known bool) {
	e, known, claimed := s.claim(digest, h.TargetURI(), h.Date(), h.ID(), true)
	if claimed {
		s.settle(digest, true)
	}
	return e, known
}

// sha256Of returns a digest in the form in which payloads are remembered, and false if it is of
// another kind.
func sha256Of(text string) (string, bool) {
	d, ok := warc.ParseDigest(text)
	if !ok || d.Algorithm != "sha256" {
		return "", false
	}
	return fmt.Sprintf("sha256:%x", d.Sum), true
}

// Revisit reports whether the payload with that digest is in an archive already, and then makes the
// header that of a revisit record, whose block has to be left out or shortened to the head of an
// answer. If it is not, the record that the header is of is remembered: it has to be written before
// others are asked about.
func (s *Seen) Revisit(h *warc.Header, digest string) bool {
	e, known := s.remember(h, digest)
	if known {
		e.refer(h)
	}
	return known
}

// claim returns the record that has the payload with that digest. If there is none, the one described
// will have it, and nobody refers to that until settle is called. Where somebody else has claimed it,
// claim waits for that, or reports neither: who has claimed another payload must not wait, or two might
// wait for each other.
func (s *Seen) claim(digest, url string, date time.Time, id string, wait bool) (e earlier, known, claimed bool) {
	if s == nil {
		return earlier{}, false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		e, ok := s.list[digest]
		switch {
		case ok && e.settled == nil:
			return e, true, false
		case ok && !wait, !ok && len(s.list) >= maxSeen:
			return earlier{}, false, false
		case !ok:
			s.list[digest] = earlier{url, date, id, make(chan struct{})}
			return earlier{}, false, true
		}
		s.mu.Unlock()
		<-e.settled
		s.mu.Lock()
	}
}

// settle tells whether the record that has claimed a payload was written.
func (s *Seen) settle(digest string, written bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.list[digest]
	close(e.settled)
	if e.settled = nil; written {
		s.list[digest] = e
	} else {
		delete(s.list, digest)
	}
}

// refer makes a header that of a revisit record.
func (e earlier) refer(h *warc.Header) {
	for i := range *h {
		if (*h)[i].Name == "WARC-Type" {
			(*h)[i].Value = warc.Revisit
		}
	}
	h.Add("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")
	if e.id != "" {
		h.Add("WARC-Refers-To", "<"+e.id+">")
	}
	h.Add("WARC-Refers-To-Target-URI", e.url)
	h.Add("WARC-Refers-To-Date", warc.FormatDate(e.date))
}

// reason says why a record is not whole, as WARC-Truncated does; "" if it is.
func reason(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fetch.ErrTooLarge):
		return "length"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "time"
	case errors.Is(err, net.ErrClosed), errors.Is(err, fetch.ErrInterrupted):
		return "unspecified"
	}
	return "disconnect"
}

// hosts are those whose address is in the file. The first maxSeen are remembered.
type hosts struct {
	mu   sync.Mutex
	seen map[string]bool
}

func newHosts() *hosts { return &hosts{seen: make(map[string]bool)} }

func (h *hosts) add(host string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[host] || len(h.seen) >= maxSeen {
		return false
	}
	h.seen[host] = true
	return true
}

// maxAddrs bounds the addresses of a host that are recorded.
const maxAddrs = 64

// looked takes what was found of a host, which may be that of a proxy.
func (r *recording) looked(host string, addrs []netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if host == r.req.URL.Host() {
		r.found = append([]netip.Addr(nil), addrs[:min(len(addrs), maxAddrs)]...)
	}
}

// lookup returns a record of the addresses that were found of the host of the URL, nil if it was
// not looked up for this exchange or all of them are in a record already.
func (r *recording) lookup() *warc.Draft {
	host := r.req.URL.Host()
	known := true
	var text strings.Builder
	fmt.Fprintf(&text, "%s\r\n", r.begin.UTC().Format("20060102150405"))
	for _, a := range r.found {
		a = a.Unmap().WithZone("")
		known = !r.hosts.add(host+" "+a.String()) && known
		kind := "A"
		if a.Is6() {
			kind = "AAAA"
		}
		fmt.Fprintf(&text, "%s.\t0\tIN\t%s\t%s\r\n", host, kind, a)
	}
	if known {
		return nil
	}
	d := &warc.Draft{Header: r.header(warc.Resource, "text/dns"), Block: warc.NewSpool(r.w.Dir())}
	for i := range d.Header {
		if d.Header[i].Name == "WARC-Target-URI" {
			d.Header[i].Value = "dns:" + host
		}
	}
	io.WriteString(d.Block, text.String())
	return d
}
