//go:build integration

package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A site holds the containers by their names in docker-compose.yml. COMPOSE_PROJECT_NAME selects
// one of several projects.
type site struct {
	containers map[string]string
	network    string
	nginx      string // container of the lab's nginx, or ""
}

var (
	nats    = []string{"nats1", "nats2", "nats3"}
	workers = []string{"worker1", "worker2", "worker3"}
)

// find finds the containers, or skips the test.
func find(t *testing.T) *site {
	t.Helper()
	s := &site{containers: map[string]string{}}
	args := []string{"ps", "-a", "--filter", "label=org.urlget.machines", "--format",
		`{{.ID}} {{.Label "com.docker.compose.service"}}`}
	if project := os.Getenv("COMPOSE_PROJECT_NAME"); project != "" {
		args = append(args, "--filter", "label=com.docker.compose.project="+project)
	}
	list, err := docker(t.Context(), nil, args...)
	for line := range strings.Lines(list) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		s.containers[name] = id
	}
	if err != nil || len(s.containers) != len(nats)+len(workers)+1 {
		text := fmt.Sprintf("profile machines is not running completely: %v (%v); run integration/lab-up.sh machines", s.containers, err)
		if strings.Contains(os.Getenv("URLGET_LAB"), "required") {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	s.network = s.must(t, "inspect", "-f", "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}", s.containers["targets"])
	s.nginx = s.must(t, "ps", "-q", "--filter", "label=com.docker.compose.service=nginx", "--filter", "network="+s.network)
	return s
}

// docker runs the command, with a timeout of two minutes.
func docker(ctx context.Context, in io.Reader, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("docker %s: %w: %s", strings.Join(args[:min(len(args), 5)], " "), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

func (s *site) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := docker(t.Context(), nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ask runs a command on the machines until the queue responds. Restarted servers may have to elect
// a leader first.
func (s *site) ask(t *testing.T, args ...string) (out string) {
	t.Helper()
	until(t, patience, strings.Join(args, " "), func() (err error) {
		out, err = docker(t.Context(), nil, s.inside(args...)...)
		return err
	})
	return out
}

// inside returns a command line that runs args on the machines.
func (s *site) inside(args ...string) []string {
	return append([]string{"exec", "-i", s.containers["targets"]}, args...)
}

// addr returns the address of a port of a container. It may change when the container is
// disconnected.
func (s *site) addr(name, port string) (string, error) {
	ip, err := docker(context.Background(), nil, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", s.containers[name])
	if err == nil && ip == "" {
		err = fmt.Errorf("%s has no address", name)
	}
	return ip + ":" + port, err
}

// get requests JSON from a server on the machines.
func (s *site) get(method, name, port, path string, v any) error {
	addr, err := s.addr(name, port)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(v)
}

// leader returns the NATS server that leads the stream of jobs.
func (s *site) leader() (string, error) {
	var status struct {
		Accounts []struct {
			Streams []struct {
				Name    string
				Cluster struct{ Leader string }
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	var err error
	for _, name := range nats {
		if err = s.get("GET", name, "8222", "/jsz?streams=1&accounts=1", &status); err != nil {
			continue
		}
		for _, account := range status.Accounts {
			for _, stream := range account.Streams {
				if stream.Name == "urlget-jobs-normal" && stream.Cluster.Leader != "" {
					return stream.Cluster.Leader, nil
				}
			}
		}
	}
	return "", fmt.Errorf("no server reports a leader: %w", err)
}

// A status is the output of "urlget queue status --json".
type status struct {
	Waiting, Taken                   map[string]int
	Results, Dead, Missing, Replicas int
}

func (s *site) status(ctx context.Context) (*status, error) {
	out, err := docker(ctx, nil, s.inside("urlget-queue", "queue", "status", "--json")...)
	if err != nil {
		return nil, err
	}
	st := &status{}
	return st, json.Unmarshal([]byte(out), st)
}

func (st *status) depth() (n int) {
	for _, m := range []map[string]int{st.Waiting, st.Taken} {
		for _, k := range m {
			n += k
		}
	}
	return n
}

// patience limits waits that must succeed. They take long only if the machine is busy.
const patience = 10 * time.Minute

// until checks a condition every second, and ends the test after a timeout.
func until(t *testing.T, within time.Duration, what string, is func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(within); time.Now().Before(end); {
		if err = is(); err == nil {
			return
		}
		if pause(t.Context(), time.Second) != nil {
			break
		}
	}
	t.Fatalf("not within %v: %s: %v", within, what, err)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
