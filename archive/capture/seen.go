package capture

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// maxSeen limits the number of remembered payloads. Once it is reached, no more are added.
const maxSeen = 1 << 20

// Seen is the set of payloads that are already archived. It is safe for concurrent use. A nil *Seen
// is empty.
type Seen struct {
	mu       sync.Mutex
	resolved sync.Cond                 // signalled when a claim is resolved
	list     map[string]archivedRecord // by digest
	urls     map[string]string         // the digest of the latest complete content, by URL
}

type archivedRecord struct {
	url     string
	date    time.Time
	id      string // "" if unknown
	claimed bool   // the record is not yet written
}

// NewSeen returns an empty Seen.
func NewSeen() *Seen {
	s := &Seen{list: make(map[string]archivedRecord), urls: make(map[string]string)}
	s.resolved.L = &s.mu
	return s
}

var errFull = errors.New("enough")

// ErrDigests is returned by Load for an index whose digests are all of other algorithms than
// SHA-256.
var ErrDigests = errors.New("capture: index with digests other than SHA-256")

// Load adds the payloads of a CDXJ index. If index is not valid, it returns warc.ErrNoIndex.
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
			s.list[digest] = archivedRecord{url: e.URL, date: e.Date}
		}
		if e.Status == http.StatusOK && e.Method == "" {
			s.setLatest(e.URL, digest)
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

// Add adds the payload of an archived record, if it is complete.
func (s *Seen) Add(h *warc.Header) {
	digest, ok := sha256Of(h.Get("WARC-Payload-Digest"))
	hasPayload := h.Type() == warc.Response || h.Type() == warc.Resource
	if s != nil && ok && hasPayload && h.Incomplete() == "" && !h.Date().IsZero() {
		s.remember(h, digest)
	}
}

// remember returns the record with the payload digest. If there is none, it stores the record with
// the header h.
func (s *Seen) remember(h *warc.Header, digest string) (e archivedRecord, known bool) {
	e, known, claimed := s.claim(digest, h.TargetURI(), h.Date(), h.ID(), true)
	if claimed {
		s.resolve(digest, true)
	}
	return e, known
}

func sha256Of(text string) (string, bool) {
	d, ok := digest.Parse(text)
	if !ok || d.Algorithm != "sha256" {
		return "", false
	}
	return fmt.Sprintf("sha256:%x", d.Sum), true
}

// Revisit reports whether the payload digest is already archived. If so, it turns h into the header
// of a revisit record; the caller must then remove the block or shorten it to the response head.
// Otherwise it stores the record with the header h, which must be written before the next call.
func (s *Seen) Revisit(h *warc.Header, digest string) bool {
	e, known := s.remember(h, digest)
	if known {
		e.makeRevisit(h)
	}
	return known
}

// claim returns the record with the payload digest. If there is none, it claims the digest for the
// record described by the arguments, and other calls cannot refer to it until resolve is called. If
// another exchange has claimed the digest, claim waits if wait is set, and otherwise returns
// neither result. A caller with another claim must not wait, to avoid a deadlock.
func (s *Seen) claim(
	digest, url string, date time.Time, id string, wait bool,
) (e archivedRecord, known, claimed bool) {
	if s == nil {
		return archivedRecord{}, false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		e, ok := s.list[digest]
		switch {
		case ok && !e.claimed:
			s.setLatest(url, digest)
			return e, true, false
		case ok && !wait, !ok && len(s.list) >= maxSeen:
			return archivedRecord{}, false, false
		case !ok:
			s.list[digest] = archivedRecord{url, date, strings.Clone(id), true} // not the date in its memory
			return archivedRecord{}, false, true
		}
		s.resolved.Wait()
	}
}

// resolve ends a claim and reports whether the record was written.
func (s *Seen) resolve(digest string, written bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resolved.Broadcast()
	e := s.list[digest]
	if e.claimed = false; written {
		s.list[digest] = e
		s.setLatest(e.url, digest)
	} else {
		delete(s.list, digest)
	}
}

// setLatest sets the digest of the latest content of a URL. s.mu must be held.
func (s *Seen) setLatest(url, digest string) {
	if _, ok := s.urls[url]; ok || len(s.urls) < maxSeen {
		s.urls[url] = digest
	}
}

// latest returns the record with the latest content of a URL, or the zero value if it is unknown.
func (s *Seen) latest(url string) archivedRecord {
	if s == nil {
		return archivedRecord{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.list[s.urls[url]]
	if !ok || e.claimed {
		return archivedRecord{}
	}
	return e
}

func (e archivedRecord) makeRevisit(h *warc.Header) {
	e.refer(h, "identical-payload-digest")
	h.Add("WARC-Truncated", "length") // the payload is omitted (WARC/1.1, section 6.7.2)
}

// makeUnmodified turns h into the header of a revisit of e, which the server did not modify. The zero
// value stands for a record in an unknown archive. The payload is that of the earlier record, so its
// digest is not that of the empty response (WARC/1.1, section 6.7.3).
func (e archivedRecord) makeUnmodified(h *warc.Header) { e.refer(h, "server-not-modified") }

func (e archivedRecord) refer(h *warc.Header, profile string) {
	for i := range *h {
		if (*h)[i].Name == "WARC-Type" {
			(*h)[i].Value = warc.Revisit
		}
	}
	h.Add("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/"+profile)
	if e.url == "" {
		return
	}
	if e.id != "" {
		h.Add("WARC-Refers-To", "<"+e.id+">")
	}
	h.Add("WARC-Refers-To-Target-URI", e.url)
	h.AddTime("WARC-Refers-To-Date", e.date)
}

// truncationReason returns the WARC-Truncated value for err, or "" if the record is complete.
func truncationReason(err error) string {
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

const maxAddrs = 64

// addLookup records the result of a host lookup. Lookups of other hosts, such as proxies, are
// ignored.
func (r *recording) addLookup(host string, addrs []netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if host == r.req.URL.Host() {
		r.addrs = append([]netip.Addr(nil), addrs[:min(len(addrs), maxAddrs)]...)
	}
}

// dnsRecord returns a record of the addresses of the URL's host. It returns nil if the host was not
// looked up for this exchange or all addresses are already recorded.
func (r *recording) dnsRecord() *warc.Draft {
	if len(r.addrs) == 0 {
		return nil
	}
	host := r.req.URL.Host()
	known := true
	var text strings.Builder
	fmt.Fprintf(&text, "%s\r\n", r.begin.UTC().Format("20060102150405"))
	for _, a := range r.addrs {
		a = a.Unmap().WithZone("")
		known = !r.hosts.Add(host+" "+a.String()) && known
		kind := "A"
		if a.Is6() {
			kind = "AAAA"
		}
		fmt.Fprintf(&text, "%s.\t0\tIN\t%s\t%s\r\n", host, kind, a)
	}
	if known {
		return nil
	}
	h := warc.NewHeader(warc.Resource, "text/dns", "dns:"+host, r.begin)
	d := &warc.Draft{Header: h, Block: r.w.NewSpool()}
	io.WriteString(d.Block, text.String())
	return d
}
