//go:build integration

package machines

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/queue/jetstream"
)

var damageSeeds = flag.Uint64("damage-seeds", 2, "run TestDamagedStores with `N` seeds")

// TestDamagedStores flips bits in the results of two and of three of three servers. The repair keeps the
// fullest copy, or stops; it never submits a job whose result a copy had.
func TestDamagedStores(t *testing.T) {
	program := buildProgram(t)
	for seed := range *damageSeeds {
		for _, servers := range []int{2, 3} {
			t.Run(fmt.Sprintf("%d servers, seed %d", servers, seed), func(t *testing.T) {
				damageStores(t, program, servers, rand.New(rand.NewPCG(seed, uint64(servers))))
			})
		}
	}
}

// buildProgram returns the path of the program of the queue.
func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "urlget-queue")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/urlget/urlget/queue/cmd/urlget-queue").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return program
}

// finishAndStop starts three servers, lets a worker finish the jobs of a list with these URLs, and stops the
// worker and the servers.
func (o *outage) finishAndStop(t *testing.T, list string, all []string) {
	t.Helper()
	o.cluster = startCluster(t)
	until(t, patience, "the servers accept jobs", func() error {
		_, _, err := o.queue("submit", "-q", "--replicas", "3", all[0])
		return err
	})
	if _, _, err := o.queue("submit", "-q", "-i", list); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.engine, err = jetstream.Open(t.Context(), jetstream.Options{URL: o.urls}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.engine.Close() })
	o.startWorkers(1)
	o.wait(len(all))
	o.stopWorkers()
	for i := range o.servers {
		o.servers[i].Process.Signal(syscall.SIGTERM)
		o.servers[i].Wait()
	}
}

func damageStores(t *testing.T, program string, servers int, random *rand.Rand) {
	dir := t.TempDir()
	o := &outage{start: time.Now(), program: program, artefacts: filepath.Join(dir, "artefacts")}
	all := listSites(t, 800)
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.finishAndStop(t, list, all)
	for i := range servers {
		o.flipBits(i, "results", 4, random)
	}
	for i := range o.servers {
		o.cluster.start(i)
	}
	until(t, patience, "the servers can be reached", func() error {
		_, err := o.engine.Status(t.Context())
		return err
	})
	var out, log string
	var err error
	until(t, patience, "all servers respond", func() error {
		out, log, err = o.queue("queue", "audit", "-i", list, "--resubmit")
		if silent := "not respond"; strings.Contains(log, silent) {
			return fmt.Errorf("%s", log)
		}
		return nil
	})
	o.log("audit --resubmit: %s%s, %v", out, log, err)
	switch {
	case err == nil && out != "":
		t.Errorf("submitted again:\n%s", out)
	case err == nil:
		o.checkResults(all)
	case !errors.As(err, new(*exec.ExitError)):
		t.Fatal(err)
	case servers < len(o.servers):
		t.Errorf("one copy is whole, but: %v", err)
	case !strings.Contains(err.Error(), "was not repaired") || out != "":
		t.Errorf("%s%v", out, err)
	}
	if s, err := o.engine.Status(t.Context()); err != nil || s.Depth() > 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// flipBits changes n bits in the messages of a stream of a server that does not run. It leaves their
// sequence numbers: a server fills its index up to a wrong one, and has no memory left before it starts.
func (o *outage) flipBits(server int, stream string, n int, random *rand.Rand) {
	o.t.Helper()
	var blocks []string
	err := filepath.WalkDir(o.store(server), func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".blk" && strings.HasSuffix(filepath.Dir(filepath.Dir(file)), "-"+stream) {
			blocks = append(blocks, file)
		}
		return err
	})
	if err != nil || len(blocks) == 0 {
		o.t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for range n {
		file := blocks[random.IntN(len(blocks))]
		text, err := os.ReadFile(file)
		if err == nil {
			places := outsideSequences(text)
			text[places[random.IntN(len(places))]] ^= 1 << random.IntN(8)
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
}

// outsideSequences returns the indexes of the bytes of a block that are not part of a sequence number. A
// message begins with its length and its sequence number, 4 and 8 bytes.
func outsideSequences(block []byte) (places []int) {
	for start := 0; start+12 <= len(block); {
		length := binary.LittleEndian.Uint32(block[start:]) &^ (1 << 31) // which marks headers
		end := start + int(max(length, 12))
		for i := start; i < min(end, len(block)); i++ {
			if i < start+4 || i >= start+12 {
				places = append(places, i)
			}
		}
		start = end
	}
	return places
}

// TestAuditWhileAServerIsDown audits a queue of three servers of which one does not run and one has
// damaged results. The audit names both and shows the fullest copy, and a resubmission submits what no
// copy has.
func TestAuditWhileAServerIsDown(t *testing.T) {
	program := buildProgram(t)
	dir := t.TempDir()
	o := &outage{start: time.Now(), program: program, artefacts: filepath.Join(dir, "artefacts")}
	all := listSites(t, 100)
	list, more := filepath.Join(dir, "list"), filepath.Join(dir, "more")
	extra := append([]string{"data:,lost"}, all...)
	for name, lines := range map[string][]string{list: all, more: extra} {
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.finishAndStop(t, list, all)
	o.flipBits(1, "results", 4, rand.New(rand.NewPCG(1, 1)))
	o.cluster.start(0)
	o.cluster.start(1)
	audit := func(args ...string) (out, log string) {
		t.Helper()
		until(t, patience, "the servers respond", func() (err error) {
			var exit *exec.ExitError
			if out, log, err = o.queue(append([]string{"queue", "audit"}, args...)...); errors.As(err, &exit) && exit.ExitCode() == 1 {
				err = nil
			}
			return err
		})
		o.log("audit %s: %s%s", args, out, log)
		return out, log
	}
	out, log := audit("-i", list)
	if out != "" || !strings.Contains(log, "does not respond") || !strings.Contains(log, "these figures are those of n0") {
		t.Errorf("with a server down: %s%s", out, log)
	}
	out, log = audit("-i", more, "--resubmit")
	if strings.Count(out, "\n") != 1 || !strings.Contains(out, `"url":"data:,lost"`) || !strings.Contains(log, "the copies were not made equal") {
		t.Errorf("resubmission with a server down: %s%s", out, log)
	}
	o.cluster.start(2)
	o.startWorkers(1)
	o.wait(len(extra))
	o.stopWorkers()
	if _, log := audit("-i", more, "--resubmit"); !strings.Contains(log, "101 jobs: 101 finished, 0 unfinished, 0 lost") {
		t.Errorf("with all servers: %s", log)
	}
	o.checkResults(extra)
}

// TestNothingIsWrittenToADamagedCopy audits a queue of three servers of which one does not run and both
// others have damaged results. A server that writes a message whose earlier version is damaged stops the
// stream, so the audit only says what is damaged.
func TestNothingIsWrittenToADamagedCopy(t *testing.T) {
	dir := t.TempDir()
	o := &outage{start: time.Now(), program: buildProgram(t), artefacts: filepath.Join(dir, "artefacts")}
	all := listSites(t, 100)
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.finishAndStop(t, list, all)
	for i := range 2 {
		o.flipBits(i, "results", 4, rand.New(rand.NewPCG(1, uint64(i))))
		o.cluster.start(i)
	}
	var out, log string
	var err error
	until(t, patience, "the two servers respond", func() error {
		if out, log, err = o.queue("queue", "audit", "-i", list, "--resubmit"); strings.Contains(log, "do not respond") {
			return err
		}
		return nil
	})
	o.log("audit --resubmit: %s%s, %v", out, log, err)
	if err == nil || out != "" || !strings.Contains(log, "the fullest copy is damaged") {
		t.Errorf("%s%s, %v", out, log, err)
	}
	o.cluster.start(2)
	until(t, patience, "all servers respond", func() error {
		_, log, err = o.queue("queue", "audit", "-i", list, "--resubmit")
		if strings.Contains(log, "not respond") {
			return fmt.Errorf("%s", log)
		}
		return nil
	})
	o.log("audit --resubmit: %s, %v", log, err)
	if err != nil {
		t.Errorf("the third copy is whole, but: %v", err)
	}
	o.checkResults(all)
}
