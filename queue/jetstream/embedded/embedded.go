// Package embedded runs a NATS server with JetStream in the process, for queues on one machine. It
// listens on a free loopback port and requires a token. A file in its directory holds the URL with
// the token, so that other programs of the same user can connect.
package embedded

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/urlget/urlget/fetch"
)

// A Server is a NATS server in this process.
type Server struct {
	nats *server.Server
	lock *bolt.DB
	url  string
	dir  string
}

// addressRecord is the contents of the address file.
type addressRecord struct {
	URL         string `json:"url"` // with the token
	LongRunning bool   `json:"stays,omitempty"`
}

const (
	addressFile  = "server.json"
	lockFile     = "lock"
	startTimeout = 10 * time.Second
)

// ErrRuns is returned by Start if another process runs a server in the same directory.
var ErrRuns = errors.New("embedded: directory in use by another server")

// Start starts a server that stores its data in dir, which it creates if needed. If longRunning is
// true, the server is announced as long-running; see Find.
func Start(dir string, longRunning bool) (*Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fetch.ErrFile.Wrap("", err)
	}
	lock, err := bolt.Open(filepath.Join(dir, lockFile), 0o600, &bolt.Options{Timeout: 200 * time.Millisecond})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fetch.ErrFile.Wrap("", fmt.Errorf("%s: %w", dir, ErrRuns))
	}
	if err != nil {
		return nil, fetch.ErrFile.Wrap("", err)
	}
	token := rand.Text()
	s, err := server.NewServer(&server.Options{
		ServerName: "embedded", Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: token, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(dir, "store"), SyncInterval: 2 * time.Second, JetStreamMaxStore: 1 << 40,
		JetStreamMaxMemory: 64 << 20,
	})
	if err != nil {
		lock.Close()
		return nil, fetch.ErrFile.Wrap("", fmt.Errorf("%s: %w", dir, err))
	}
	e := &Server{nats: s, lock: lock, dir: dir}
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		e.Close()
		return nil, fetch.ErrFile.Wrap("", fmt.Errorf("%s: the embedded server does not start", dir))
	}
	e.url = "nats://" + token + "@" + s.Addr().String()
	data, err := json.Marshal(addressRecord{e.url, longRunning})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, addressFile), data, 0o600)
	}
	if err != nil {
		e.Close()
		return nil, fetch.ErrFile.Wrap("", err)
	}
	return e, nil
}

// URL returns the URL of the server with its token.
func (s *Server) URL() string { return s.url }

// InProcessConn returns a connection within the process.
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// Close shuts the server down and waits until all data is written.
func (s *Server) Close() error {
	os.Remove(filepath.Join(s.dir, addressFile))
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return s.lock.Close()
}

// Find returns the URL of the server that another process runs in a directory, or "". stays is the
// argument of Start in that process.
func Find(dir string) (url string, longRunning bool) {
	data, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		return "", false
	}
	var f addressRecord
	if json.Unmarshal(data, &f) != nil {
		return "", false
	}
	lock, err := bolt.Open(filepath.Join(dir, lockFile), 0o600, &bolt.Options{Timeout: 50 * time.Millisecond})
	if err == nil {
		lock.Close()
		return "", false // the file was left by a process that has ended
	}
	return f.URL, f.LongRunning
}
