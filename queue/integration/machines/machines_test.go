//go:build integration

package machines

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/queue/integration/machines/content"
)

var (
	urls = flag.Int("urls", 2000, "number of `URLS` to retrieve")
	kill = flag.Duration("kill", 0, "interval of kills of a worker; 0 means one kill")
)

const (
	hosts   = 16 // t00 to t15
	perHost = 2  // default limit of the workers
)

// A plan holds the submitted URLs with their expected outcomes.
type plan struct {
	run    string
	want   map[string]want // by URL
	digest map[string]bool // digests of all contents
	dead   int
}

const (
	// slowFile is a file of the lab. Its nginx sends 32 KiB/s below /slower.
	slowFile = "65537.bin"
	// ofNginx is the interval of the URLs on nginx.
	ofNginx = 100
)

type want struct {
	event, class string
	sha256       string
}

// newPlan returns a plan for n URLs. Most are files over HTTP and Gopher. Some are missing, fail
// once, or are cut off once. The poison URLs are always cut off.
func newPlan(n int, nginx bool) (*plan, error) {
	p := &plan{run: fmt.Sprint(time.Now().Unix()), want: map[string]want{}, digest: map[string]bool{}}
	slow, err := os.ReadFile(filepath.Join("..", "..", "..", "integration", "tree", slowFile))
	if nginx && err != nil {
		return nil, err
	}
	for i := range n {
		host := fmt.Sprintf("t%02d", i%hosts)
		path, query, plain, w := "", "", false, want{event: "saved"}
		switch {
		case i%400 == 37:
			path, w = "cut/", want{event: "failed", class: "truncated"}
			p.dead++
		case i%100 == 11:
			path, w = "gone/", want{event: "failed", class: "not_found"}
		case i%50 == 12:
			path = "flaky/"
		case i%500 == 13:
			path = "busy/"
		case i%200 == 114:
			query = "?again" // the same content under another URL
		default:
			plain = true
		}
		path = fmt.Sprintf("/%s/%s%d", p.run, path, i)
		u := "http://" + host + ":8080" + path + query
		if plain && i%8 == 3 {
			path = "/" + host + path
			u = "gopher://" + host + ":7070/9" + path
		}
		if nginx && i%ofNginx == 0 {
			p.want[fmt.Sprintf("http://nginx:28140/slower/%s?%s-%d", slowFile, p.run, i)] = p.saved(slow)
		}
		if query != "" {
			p.want["http://"+host+":8080"+path] = p.saved(content.Of(path))
		}
		if w.event == "saved" {
			w = p.saved(content.Of(path))
		}
		p.want[u] = w
	}
	return p, nil
}

// saved returns the outcome for a saved file.
func (p *plan) saved(body []byte) want {
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	p.digest[digest] = true
	return want{event: "saved", sha256: digest}
}

func (p *plan) list() *bytes.Buffer {
	var b bytes.Buffer
	for u := range p.want {
		fmt.Fprintln(&b, u)
	}
	return &b
}

// malformed are messages in the stream that are not jobs.
var malformed = []string{"", "{", `{"v":1}`, `{"v":9,"id":"00000000000000000000000000000000","job":{}}`, "\x00\xff\xfe", strings.Repeat("[", 5000)}

// putMalformed publishes the malformed messages.
func (s *site) putMalformed() error {
	addr, err := s.addr("nats1", "4222")
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(c)
	r.ReadString('\n')
	fmt.Fprintf(c, "CONNECT {\"verbose\":false}\r\n")
	for _, m := range malformed {
		fmt.Fprintf(c, "PUB urlget.jobs.normal %d\r\n%s\r\n", len(m), m)
	}
	fmt.Fprintf(c, "PING\r\n")
	line, err := r.ReadString('\n')
	if err == nil && strings.TrimSpace(line) != "PONG" {
		err = fmt.Errorf("got %q, want PONG", line)
	}
	return err
}

// All features and disturbances together.
func TestResultsWithDisturbances(t *testing.T) {
	s := find(t)
	s.reset(t)
	p, err := newPlan(*urls, s.nginx != "")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := s.putMalformed(); err != nil {
		t.Fatal(err)
	}
	submitted := make(chan error, 1)
	go func() {
		_, err := docker(t.Context(), p.list(), s.inside("urlget-queue", "submit", "-q", "-i", "-")...)
		t.Logf("%4.0f s: all submitted: %v", time.Since(start).Seconds(), err)
		submitted <- err
	}()
	d := &disturbance{site: s, t: t, start: start}
	over, stop := context.WithCancel(t.Context())
	defer stop()
	disturbed := make(chan struct{})
	go func() {
		defer close(disturbed)
		d.run(over)
	}()
	var busy time.Duration // until the last URL has its result
	until(t, patience+time.Duration(*urls)*150*time.Millisecond, "all jobs end", func() error {
		st, err := s.status(t.Context())
		if err != nil {
			return err
		}
		if st.Results >= len(p.want) && busy == 0 {
			busy = time.Since(start)
			stop()
		}
		if st.depth() > 0 || st.Results < len(p.want) {
			return fmt.Errorf("%+v", *st)
		}
		return nil
	})
	stop()
	<-disturbed
	if err := <-submitted; err != nil {
		t.Error(err)
	}
	if !d.complete() {
		t.Errorf("the URLs were done before everything was disturbed that was to be")
	}
	t.Logf("%d URLs in %.0f s, %.0f a second; %s", len(p.want), busy.Seconds(), float64(len(p.want))/busy.Seconds(), d)
	s.checkResults(t, p)
	s.checkDead(t, p)
	s.checkArtefacts(t, p)
	s.checkTargets(t, p)
	if s.nginx != "" {
		s.checkNginx(t, p)
	}
}

// reset removes the state of earlier tests.
func (s *site) reset(t *testing.T) {
	t.Helper()
	for _, name := range workers {
		s.must(t, "stop", "-t", "2", s.containers[name]) // they may have leases
	}
	for _, name := range append([]string{"targets"}, nats...) {
		s.start(t, name)
	}
	until(t, patience, "queue to be reachable", func() error {
		st, err := s.status(t.Context())
		if err == nil && (st.Replicas != 3 || st.Missing > 0) {
			err = fmt.Errorf("%+v", *st)
		}
		return err
	})
	for _, kind := range []string{"jobs", "results", "dead"} {
		s.ask(t, "urlget-queue", "queue", "purge", kind)
	}
	s.must(t, s.inside("sh", "-c", "rm -rf /artefacts/sha256/* /artefacts/tmp/*")...)
	for _, name := range workers {
		s.start(t, name)
	}
	var c counts
	until(t, patience, "reset of the counts", func() error { return s.get("POST", "targets", "8081", "/", &c) })
}

// start starts a killed container and reconnects it to its network.
func (s *site) start(t *testing.T, name string) {
	t.Helper()
	id := s.containers[name]
	if _, err := s.addr(name, ""); err != nil && s.must(t, "inspect", "-f", "{{len .NetworkSettings.Networks}}", id) == "0" {
		s.must(t, "network", "connect", "--alias", name, s.network, id)
	}
	s.must(t, "start", id)
}

// checkResults compares the results with the plan.
func (s *site) checkResults(t *testing.T, p *plan) {
	t.Helper()
	out := s.ask(t, "urlget-queue", "queue", "results")
	seen, by, failures := map[string]int{}, map[string]int{}, 0
	for line := range strings.Lines(out) {
		var r struct {
			Event, URL, Class, SHA256, Worker string
			Failures                          int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		w, ok := p.want[r.URL]
		if !ok {
			t.Errorf("unexpected result: %s", line)
			continue
		}
		if r.Event != w.event || r.Class != w.class || r.SHA256 != w.sha256 {
			t.Errorf("want %+v: %s", w, line)
		}
		failures += r.Failures
		by[r.Worker]++
		if seen[r.URL]++; seen[r.URL] > 1 {
			t.Errorf("more than one result: %s", line)
		}
	}
	for u := range p.want {
		if seen[u] == 0 {
			t.Errorf("no result: %s", u)
		}
	}
	t.Logf("%d results of %d URLs; %d transient failures; workers at the start of each: %v", len(seen), len(p.want), failures, by)
}

// checkDead compares the dead letters with the poison URLs.
func (s *site) checkDead(t *testing.T, p *plan) {
	t.Helper()
	out := s.ask(t, "urlget-queue", "queue", "dead", "--json")
	poison, raw := 0, 0
	for line := range strings.Lines(out) {
		var l struct{ URL, Error string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch u, _ := url.Parse(l.URL); {
		case l.URL == "":
			raw++
		case strings.Contains(u.Path, "/cut/"):
			poison++
		default:
			t.Errorf("a dead letter that is no poison: %s", line)
		}
	}
	if poison != p.dead || raw != len(malformed) {
		t.Errorf("%d dead letters of %d that break, %d of %d that are no jobs", poison, p.dead, raw, len(malformed))
	}
	t.Logf("dead letters: %d URLs that always break, %d messages that are no jobs, and nothing else", poison, raw)
}

// checkArtefacts reads all contents.
func (s *site) checkArtefacts(t *testing.T, p *plan) {
	t.Helper()
	out := s.must(t, s.inside("sh", "-c", "cd /artefacts/sha256 && find . -type f | xargs sha256sum")...)
	n := 0
	for line := range strings.Lines(out) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if name != "./"+sum[:2]+"/"+sum {
			t.Errorf("the digest of %s is %s", name, sum)
		}
		if !p.digest[sum] {
			t.Errorf("unexpected body: %s", sum)
		}
		n++
	}
	if n != len(p.digest) {
		t.Errorf("%d contents, not %d", n, len(p.digest))
	}
	left := s.must(t, s.inside("sh", "-c", "ls /artefacts/tmp | wc -l")...)
	t.Logf("%d bodies, each stored once under its digest; %s unfinished files of killed workers", n, left)
}

// The counts of the targets.
type counts struct {
	Peak                     map[string]int
	Transfers, Broken, Again int
}

func (s *site) checkTargets(t *testing.T, _ *plan) {
	t.Helper()
	var c counts
	if err := s.get("GET", "targets", "8081", "/", &c); err != nil {
		t.Fatal(err)
	}
	most := 0
	for host, n := range c.Peak {
		if n > perHost {
			t.Errorf("%s had %d transfers at once", host, n)
		}
		most = max(most, n)
	}
	t.Logf("%d hosts had %d transfers, at most %d at once per host; %d ended with their worker, and %d repeated a complete transfer",
		len(c.Peak), c.Transfers, most, c.Broken, c.Again)
}

// checkNginx computes the number of simultaneous transfers from nginx's log.
func (s *site) checkNginx(t *testing.T, p *plan) {
	t.Helper()
	out := s.must(t, "exec", s.nginx, "grep", "-F", "?"+p.run+"-", "/lab/log/access.log")
	type edge struct {
		at float64
		up int
	}
	var edges []edge
	n := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		end, err := strconv.ParseFloat(fields[len(fields)-2], 64)
		elapsed, err2 := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil || err2 != nil {
			t.Fatalf("no line of nginx: %s", line)
		}
		edges = append(edges, edge{end - elapsed, 1}, edge{end - 0.001, -1}) // the log has milliseconds
		n++
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.up, b.up)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.up
		most = max(most, now)
	}
	if most > perHost {
		t.Errorf("nginx had %d transfers at once", most)
	}
	t.Logf("the lab's nginx had %d transfers, at most %d at once", n, most)
}
