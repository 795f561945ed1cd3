// Package embedded runs a NATS server with JetStream in the process, for queues on one machine. It
// listens on a free loopback port and requires a token. A file in its directory holds the URL with
// the token, so that other programs of the same user can connect. The next server in the directory
// has the same token, and the same port if that is still free; a [Dir] finds it anyway.
package embedded

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/atomicfile"
)

// A Server is a NATS server in this process.
type Server struct {
	dir  string
	nats *server.Server
	lock *bolt.DB
	url  string
}

type addressRecord struct {
	URL         string `json:"url"` // with the token
	LongRunning bool   `json:"stays,omitempty"`
}

const (
	addressFile  = "server.json"
	lockFile     = "lock"
	storeDir     = "store"
	startTimeout = 2 * time.Minute
	// portTimeout is the time after which a server that does not listen is tried at another port.
	portTimeout = 20 * time.Second
	// authTimeout is the time for a client to log in. The default of two seconds is too short when many
	// processes start on a busy machine.
	authTimeout = 30 * time.Second
	// takeOverInterval is the interval at which TakeOver looks for the end of a server.
	takeOverInterval = 200 * time.Millisecond
	dialTimeout      = 5 * time.Second
)

// ErrRuns is returned by Start if another process runs a server in the same directory.
var ErrRuns = errors.New("embedded: directory in use by another server")

// Start starts a server that stores its data in dir, which it creates if needed. If longRunning is
// true, the server is announced as long-running; see Find.
func Start(dir string, longRunning bool) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fetch.ErrFile.Wrap("", err)
	}
	lock, err := bolt.Open(filepath.Join(dir, lockFile), 0o600,
		&bolt.Options{Timeout: 200 * time.Millisecond})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fetch.ErrFile.Wrap("", fmt.Errorf("%s: %w", dir, ErrRuns))
	}
	if err != nil {
		return nil, fetch.ErrFile.Wrap("", err)
	}
	port, token := address(dir)
	s, err := run(dir, port, token, portTimeout)
	if err == nil && s == nil {
		// Another program took the port in the meantime, or the machine is busy.
		s, err = run(dir, server.RANDOM_PORT, token, startTimeout)
	}
	if err == nil && s == nil {
		err = errors.New("the embedded server does not start")
	}
	if err != nil {
		return nil, fetch.ErrFile.Wrap("", errors.Join(fmt.Errorf("%s: %w", dir, err), lock.Close()))
	}
	e := &Server{dir: dir, nats: s, lock: lock}
	e.url = "nats://" + token + "@" + s.Addr().String()
	data, err := json.Marshal(addressRecord{e.url, longRunning})
	if err == nil {
		err = atomicfile.WriteFile(filepath.Join(dir, addressFile), data, 0o600)
	}
	if err != nil {
		e.Close()
		return nil, fetch.ErrFile.Wrap("", err)
	}
	return e, nil
}

// run starts a server, or returns nil if it does not listen within a time.
func run(dir string, port int, token string, timeout time.Duration) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "embedded", Host: "127.0.0.1", Port: port, Authorization: token, NoSigs: true,
		NoLog:     true,
		JetStream: true, StoreDir: filepath.Join(dir, storeDir), SyncInterval: 2 * time.Second,
		JetStreamMaxStore:  1 << 40,
		JetStreamMaxMemory: 64 << 20, AuthTimeout: authTimeout.Seconds(),
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if s.ReadyForConnections(timeout) {
		return s, nil
	}
	s.Shutdown()
	s.WaitForShutdown()
	return nil, nil
}

// address returns the port and the token of the last server in a directory. The port is random if that
// of the last one is in use, and both are new if there was none.
func address(dir string) (port int, token string) {
	f, _ := readAddress(dir)
	u, err := url.Parse(f.URL)
	if err != nil || u.User.Username() == "" {
		return server.RANDOM_PORT, rand.Text()
	}
	if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", u.Port())); err == nil {
		l.Close()
		return l.Addr().(*net.TCPAddr).Port, u.User.Username()
	}
	return server.RANDOM_PORT, u.User.Username()
}

func readAddress(dir string) (f addressRecord, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil || json.Unmarshal(data, &f) != nil {
		return addressRecord{}, false
	}
	return f, true
}

// TakeOver waits until no process runs a server in a directory. Then it starts one with the token in
// that URL, to which clients that dial by a [Dir] connect again. It returns nil if ctx ends, if the
// directory is removed, or if its servers have another token.
func TakeOver(ctx context.Context, dir, url string, longRunning bool) (*Server, error) {
	tick := time.NewTicker(takeOverInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, nil
		}
		if f, ok := readAddress(dir); !ok || tokenOf(f.URL) != tokenOf(url) {
			return nil, nil
		}
		if s, err := Start(dir, longRunning); !errors.Is(err, ErrRuns) {
			return s, err
		}
	}
}

func tokenOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.User.Username()
}

// Dir is a directory whose server runs in another process. When that ends, the next one may have
// another port.
type Dir string

// InProcessConn returns a connection to the server that runs in the directory now.
func (d Dir) InProcessConn() (net.Conn, error) {
	f, _ := readAddress(string(d))
	u, err := url.Parse(f.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s: no embedded server", string(d))
	}
	return net.DialTimeout("tcp", u.Host, dialTimeout)
}

// URL returns the URL of the server with its token.
func (s *Server) URL() string { return s.url }

// InProcessConn returns a connection within the process.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// Close shuts the server down and waits until all data is written, and what was deleted is gone. NATS renames
// the directory of a deleted stream and removes it later, perhaps after the process has ended.
func (s *Server) Close() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	deleted, err := filepath.Glob(filepath.Join(s.dir, storeDir, "jetstream", "*", "streams", ".*"))
	for _, name := range deleted {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return errors.Join(err, s.lock.Close())
}

// Find returns the URL of the server that another process runs in a directory, or "". stays is the
// argument of Start in that process.
func Find(dir string) (url string, longRunning bool) {
	f, ok := readAddress(dir)
	if !ok {
		return "", false
	}
	lock, err := bolt.Open(filepath.Join(dir, lockFile), 0o600, &bolt.Options{Timeout: 50 * time.Millisecond})
	if err == nil {
		lock.Close()
		return "", false // the file was left by a process that has ended
	}
	return f.URL, f.LongRunning
}
