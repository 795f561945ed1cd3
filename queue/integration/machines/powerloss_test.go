//go:build integration

package machines

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/urlget/urlget/queue/integration/machines/content"
	"github.com/urlget/urlget/queue/jetstream"
)

// serverConfig is the environment variable that makes the test program a NATS server with the
// configuration in that file.
const serverConfig = "URLGET_TEST_NATS_CONFIG"

func TestMain(m *testing.M) {
	name := os.Getenv(serverConfig)
	if name == "" {
		os.Exit(m.Run())
	}
	opts, err := server.ProcessConfigFile(name)
	if err == nil {
		opts.NoLog = true // SIGTERM stops the server in order
		var s *server.Server
		if s, err = server.NewServer(opts); err == nil {
			s.Start()
			s.WaitForShutdown() // until the process is killed
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A cluster is three NATS servers, each a process with a store of its own.
type cluster struct {
	t       *testing.T
	dir     string
	urls    string
	servers [3]*exec.Cmd
}

// startCluster starts the servers. A server syncs its store every two minutes, as NATS does by default.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	var clients, routes []string
	for range c.servers {
		clients, routes = append(clients, freeAddress(t)), append(routes, freeAddress(t))
	}
	for i := range c.servers {
		config := fmt.Sprintf("server_name: n%d\nlisten: %s\njetstream { store_dir: %q }\ncluster { name: c, listen: %s, routes: [ %s ] }\n",
			i, clients[i], c.store(i), routes[i], "nats://"+strings.Join(routes, ", nats://"))
		if err := os.WriteFile(c.store(i)+".conf", []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	c.urls = "nats://" + strings.Join(clients, ",nats://")
	return c
}

// freeAddress returns a loopback address with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (c *cluster) store(i int) string { return filepath.Join(c.dir, fmt.Sprint("n", i)) }

func (c *cluster) start(i int) {
	c.t.Helper()
	c.servers[i] = exec.Command(os.Args[0])
	c.servers[i].Env = append(os.Environ(), serverConfig+"="+c.store(i)+".conf")
	c.servers[i].Stderr = os.Stderr
	if err := c.servers[i].Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) kill(i int) {
	c.servers[i].Process.Kill()
	c.servers[i].Wait()
}

// powerLoss ends servers after what happens meanwhile, and sets their stores back to the time before: they
// have lost what was not yet on disk.
func (c *cluster) powerLoss(meanwhile func(), servers ...int) {
	c.t.Helper()
	for _, i := range servers {
		c.servers[i].Process.Signal(syscall.SIGSTOP) // the copy is of one moment
		c.run("cp", "-a", c.store(i), c.store(i)+".old")
		c.servers[i].Process.Signal(syscall.SIGCONT)
	}
	meanwhile()
	for _, i := range servers {
		c.kill(i)
	}
	for _, i := range servers {
		c.run("rm", "-r", c.store(i))
		c.run("mv", c.store(i)+".old", c.store(i))
		c.start(i)
	}
}

func (c *cluster) run(program string, args ...string) {
	c.t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s %q: %v: %s", program, args, err, out)
	}
}

// An outage is a test of a cluster and its workers.
type outage struct {
	*cluster
	start          time.Time
	program        string // urlget-queue
	artefacts      string
	engine         *jetstream.Engine
	workers        []*exec.Cmd
	depth, results int // at the last call of status
}

func (o *outage) log(format string, args ...any) {
	o.t.Helper()
	o.t.Logf("%4.0f s: %s", time.Since(o.start).Seconds(), fmt.Sprintf(format, args...))
}

// queue runs a command of the queue and returns its output and its messages.
func (o *outage) queue(args ...string) (out, log string, err error) {
	cmd := exec.CommandContext(o.t.Context(), o.program, append(args, "--nats", o.urls)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%q: %w: %s", args, err, stderr.String())
	}
	return string(text), stderr.String(), err
}

// status requests the numbers of jobs and results. Missing replicas are an error.
func (o *outage) status() error {
	s, err := o.engine.Status(o.t.Context())
	if err != nil {
		return err
	}
	o.depth, o.results = int(s.Depth()), int(s.Results)
	if s.Missing > 0 {
		return fmt.Errorf("%d replicas are missing", s.Missing)
	}
	return nil
}

// wait waits for that many results, or until the queue is empty.
func (o *outage) wait(results int) {
	o.t.Helper()
	until(o.t, patience, fmt.Sprintf("%d results, or no jobs", results), func() error {
		if err := o.status(); err != nil || o.results < results && o.depth > 0 {
			return errors.Join(err, fmt.Errorf("%d results, %d jobs", o.results, o.depth))
		}
		return nil
	})
	o.log("%d results, %d jobs", o.results, o.depth)
}

// audit returns the number of jobs of a list that the queue has lost. It waits for the servers, which
// after an outage have no leader for a while: an audit that could not read says nothing about jobs.
func (o *outage) audit(list string, flags ...string) (lost int) {
	o.t.Helper()
	args := append([]string{"queue", "audit", "-i", list, "--artefacts", o.artefacts}, flags...)
	var out, log string
	until(o.t, patience, "the audit reads the queue", func() (err error) {
		out, log, err = o.queue(args...)
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
			return nil // jobs are lost
		}
		return err
	})
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			o.t.Errorf("audit: %q", line)
		}
		lost++
	}
	o.log("audit: %s", strings.ReplaceAll(strings.TrimSpace(log), "\n", "; "))
	return lost
}

// startWorkers starts n workers.
func (o *outage) startWorkers(n int) {
	for range n {
		cmd := exec.Command(o.program, "work", "--nats", o.urls, "--allow-private", "--artefacts", o.artefacts, "-j", "4")
		if err := cmd.Start(); err != nil {
			o.t.Fatal(err)
		}
		o.t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		o.workers = append(o.workers, cmd)
	}
}

// stopWorkers ends all workers. Each finishes the jobs that run, and returns those that it holds.
func (o *outage) stopWorkers() {
	o.t.Helper()
	for _, cmd := range o.workers {
		cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, cmd := range o.workers {
		cmd.Wait()
	}
	o.workers = nil
	o.log("stopped the workers")
}

// TestPowerLoss kills a worker, lets one of three servers lose its last writes, disconnects another one,
// and lets all servers lose their last writes, while workers retrieve URLs. Only the last of these loses
// jobs. The audit names them, and after one resubmission each URL has one result.
func TestPowerLoss(t *testing.T) {
	dir := t.TempDir()
	o := &outage{start: time.Now(), program: filepath.Join(dir, "urlget-queue"), artefacts: filepath.Join(dir, "artefacts")}
	if out, err := exec.Command("go", "build", "-o", o.program, "github.com/urlget/urlget/queue/cmd/urlget-queue").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	all := listSites(t, *urls)
	half := len(all) / 2
	list, first, second := filepath.Join(dir, "list"), filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for name, lines := range map[string][]string{list: all, first: all[:half], second: all[half:]} {
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.cluster = startCluster(t)
	until(t, patience, "the servers accept jobs", func() error {
		_, _, err := o.queue("submit", "-q", "--replicas", "3", "--ack-wait", "10s", all[0])
		return err
	})
	if _, _, err := o.queue("submit", "-q", "-i", first); err != nil {
		t.Fatal(err)
	}
	o.log("submitted the first half")
	var err error
	if o.engine, err = jetstream.Open(t.Context(), jetstream.Options{URL: o.urls}); err != nil {
		t.Fatal(err)
	}
	defer o.engine.Close()

	o.startWorkers(3)
	o.wait(half / 8)
	o.workers[0].Process.Kill()
	o.workers[0].Wait()
	o.startWorkers(1)
	o.log("killed a worker")
	o.wait(half / 4)
	o.powerLoss(func() { pause(t.Context(), 2*time.Second) }, 0)
	o.log("one server lost the writes of 2 s")
	o.wait(half * 3 / 8)
	o.servers[1].Process.Signal(syscall.SIGSTOP)
	pause(t.Context(), 10*time.Second)
	o.servers[1].Process.Signal(syscall.SIGCONT)
	o.log("one server did not respond for 10 s")
	o.wait(half / 2)
	if lost := o.audit(first); lost > 0 {
		t.Errorf("%d jobs were lost by the failure of single servers", lost)
	}
	o.loseSubmissions(second, half+half/8)
	o.wait(len(all) + 1)
	if o.audit(list) == 0 {
		t.Error("no jobs were lost; the test needs some")
	}
	o.stopWorkers() // they hold jobs that the servers have forgotten
	o.audit(list, "--resubmit")
	o.startWorkers(3)
	o.wait(len(all) + 1)
	if lost := o.audit(list); lost > 0 {
		t.Errorf("%d jobs are lost after the resubmission", lost)
	}
	o.checkResults(all)
}

// loseSubmissions submits a list and lets all servers lose their last writes when they have accepted a
// part of it, that is when they have had the given number of jobs.
func (o *outage) loseSubmissions(list string, accepted int) {
	submitted := make(chan error, 1)
	o.powerLoss(func() {
		go func() {
			_, _, err := o.queue("submit", "-q", "-i", list)
			submitted <- err
		}()
		until(o.t, patience, "a part of the list is submitted", func() error {
			if err := o.status(); err != nil || o.depth+o.results < accepted {
				return errors.Join(err, fmt.Errorf("%d jobs, %d results", o.depth, o.results))
			}
			return nil
		})
	}, 0, 1, 2)
	o.log("all servers lost their last writes")
	if err := <-submitted; err != nil {
		o.t.Error(err)
	}
	o.log("submitted the second half")
}

// checkResults checks that each URL has one result.
func (o *outage) checkResults(all []string) {
	o.t.Helper()
	var out string
	until(o.t, patience, "the results are read", func() (err error) {
		out, _, err = o.queue("queue", "results")
		return err
	})
	count := map[string]int{}
	for line := range strings.Lines(out) {
		var r struct{ Event, URL string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Event != "saved" {
			o.t.Errorf("%s, %v", line, err)
		}
		if count[r.URL]++; count[r.URL] > 1 {
			o.t.Errorf("another result of %s", r.URL)
		}
	}
	for _, u := range all {
		if count[u] == 0 {
			o.t.Errorf("no result of %s", u)
		}
	}
	o.log("%d URLs have one result each", len(count))
}

// listSites starts eight servers with a content of its own for each path, and returns n URLs on them.
func listSites(t *testing.T, n int) (all []string) {
	t.Helper()
	var sites [8]string
	for i := range sites {
		sites[i] = startSite(t, fmt.Sprintf("127.0.0.%d", i+1))
	}
	for i := range n {
		all = append(all, fmt.Sprintf("%s/%d", sites[i%len(sites)], i))
	}
	return all
}

// startSite starts a server and returns its URL.
func startSite(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(content.Of(r.URL.Path))
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
