package jetstream_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/data"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// checkOpenError checks that Open fails with an error of the given class that contains part. The
// error must have one line and no secret.
func checkOpenError(t *testing.T, opts jetstream.Options, class fetch.Code, part string) {
	t.Helper()
	e, err := jetstream.Open(t.Context(), opts)
	if err == nil {
		e.Close()
		t.Fatalf("Open succeeded; want %s: %s", class, part)
	}
	text := err.Error()
	if fetch.CodeOf(err) != class || !strings.Contains(text, part) || strings.Contains(text, "\n") || strings.Contains(text, "s3cret") {
		t.Errorf("%s: %v; want %s: %s", fetch.CodeOf(err), err, class, part)
	}
}

func TestNotAServer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		class fetch.Code
		want  string
	}{
		"http":   {"HTTP/1.1 400 Bad Request\r\n\r\n", fetch.ErrProtocol, "not a NATS server"},
		"old":    {`INFO {"server_id":"x","version":"2.8.4","proto":1,"max_payload":1048576}` + "\r\n", fetch.ErrServer, "has version 2.8.4; version 2.9.0 or later is required"},
		"closed": {"", fetch.ErrNetwork, "cannot reach the NATS server"},
		"noise":  {strings.Repeat("\x00\xff", 40_000) + "\r\n", fetch.ErrProtocol, "not a NATS server"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkOpenError(t, jetstream.Options{URL: "nats://" + serveGreeting(t, tt.text)}, tt.class, tt.want)
		})
	}
}

// serveGreeting listens, sends a greeting and answers PING with PONG. If greeting is empty, it
// closes each connection.
func serveGreeting(t *testing.T, greeting string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if greeting == "" {
					return
				}
				fmt.Fprint(c, greeting)
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "PING") {
						fmt.Fprint(c, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestServerWithoutJetStream(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		checkOpenError(t, jetstream.Options{URL: start(t, "").url}, fetch.ErrServer, "JetStream is not enabled")
	})
}

const loggedIn = `authorization { user: u, password: "s3cret" }`

// withLogin returns the URL with a login.
func (n *natsServer) withLogin(login string) string {
	return strings.Replace(n.url, "//", "//"+login+"@", 1)
}

func TestWrongCredentials(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		s := start(t, withJetStream(t, loggedIn))
		for _, url := range []string{s.url, s.withLogin("u:no"), s.withLogin("s3cret")} {
			checkOpenError(t, jetstream.Options{URL: url}, fetch.ErrAuth, "rejected the credentials")
		}
		open(t, jetstream.Options{URL: s.withLogin("u:s3cret")})
	})
}

func TestLoginsAreNotSentInClearText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url     string
		tls     *tls.Config
		refused string // the server that the error names; "" if the login may be sent
	}{
		"password":                          {"nats://u:s3cret@192.0.2.1:4222", nil, "nats://192.0.2.1:4222"},
		"token":                             {"nats://s3cret@queue.invalid", nil, "nats://queue.invalid"},
		"without a scheme":                  {"u:s3cret@queue.invalid:4222", nil, "nats://queue.invalid:4222"},
		"WebSocket":                         {"ws://u:s3cret@192.0.2.1", nil, "ws://192.0.2.1"},
		"upper case":                        {"NATS://u:s3cret@192.0.2.1", nil, "nats://192.0.2.1"},
		"one of several":                    {"nats://127.0.0.1:1, nats://u:s3cret@192.0.2.1", nil, "nats://192.0.2.1"},
		"a name that starts with localhost": {"nats://u:s3cret@localhost.invalid", nil, "nats://localhost.invalid"},
		"the unspecified address":           {"nats://u:s3cret@0.0.0.0:1", nil, "nats://0.0.0.0:1"},
		"TLS":                               {"tls://u:s3cret@127.0.0.1:1", nil, ""},
		"TLS by options":                    {"nats://u:s3cret@127.0.0.1:1", &tls.Config{}, ""},
		"loopback":                          {"nats://u:s3cret@127.0.0.2:1", nil, ""},
		"loopback by IPv6":                  {"nats://u:s3cret@[::1]:1", nil, ""},
		"localhost":                         {"nats://u:s3cret@LocalHost:1", nil, ""},
		"no login":                          {"nats://127.0.0.1:1", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := jetstream.Options{URL: tt.url, TLS: tt.tls}
			if tt.refused == "" {
				checkOpenError(t, opts, fetch.ErrNetwork, "cannot reach the NATS server")
				return
			}
			checkOpenError(t, opts, fetch.ErrRequest, tt.refused+": the login in the URL would be sent in clear text")
		})
	}
}

func TestInvalidKeys(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		s := start(t, withJetStream(t, `authorization { users: [ { nkey: UCNGL4W5QX66CFX6A6DCBVDH5VOHMI7B2UZZU7TXAUQQSI2JPHULCKBR } ] }`))
		dir := t.TempDir()
		seed := filepath.Join(dir, "seed")
		if err := os.WriteFile(seed, []byte("SUANXFK3SIH3F7JLLFBMTHYJ5LH2XPGQYRJGCGK6YOR2X7HXLVNKSPPYBI\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, []byte("s3cret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		checkOpenError(t, jetstream.Options{URL: s.url, NKey: bad}, fetch.ErrFile, "does not contain an NKey seed")
		checkOpenError(t, jetstream.Options{URL: s.url, Credentials: bad}, fetch.ErrFile, "credentials")
		checkOpenError(t, jetstream.Options{URL: s.url}, fetch.ErrAuth, "rejected the credentials")
	})
}

func TestMissingPermissions(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		s := start(t, withJetStream(t, `authorization { users: [ { user: u, password: "s3cret", permissions: { publish: "nothing" } } ] }`))
		checkOpenError(t, jetstream.Options{URL: s.withLogin("u:s3cret")}, fetch.ErrRefused, "the credentials do not permit this: NATS denies to publish to $JS.API.STREAM.INFO.urlget-jobs-high")
	})
}

const tlsDir = "../../integration/lab/tls/"

func TestTLS(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		abs, err := filepath.Abs(tlsDir)
		if err != nil {
			t.Fatal(err)
		}
		files := fmt.Sprintf("cert_file: %q, key_file: %q, ca_file: %q", abs+"/chain.pem", abs+"/key.pem", abs+"/ca.pem")
		s := start(t, withJetStream(t, "tls { "+files+" }"))
		trusted := &tls.Config{RootCAs: authority(t), MinVersion: tls.VersionTLS12}
		checkOpenError(t, jetstream.Options{URL: s.url}, fetch.ErrTLS, "certificate")
		checkOpenError(t, jetstream.Options{URL: s.url, TLS: &tls.Config{RootCAs: authority(t), ServerName: "elsewhere"}}, fetch.ErrTLS, "elsewhere")
		open(t, jetstream.Options{URL: s.url, TLS: trusted})
		open(t, jetstream.Options{URL: strings.Replace(s.url, "nats:", "tls:", 1), TLS: trusted})

		plain := start(t, withJetStream(t, ""))
		checkOpenError(t, jetstream.Options{URL: plain.url, TLS: trusted}, fetch.ErrTLS, "does not support TLS")
		verifying := start(t, withJetStream(t, "tls { verify: true, "+files+" }"))
		checkOpenError(t, jetstream.Options{URL: verifying.url, TLS: trusted}, fetch.ErrTLS, "certificate")
	})
}

func authority(t *testing.T) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(tlsDir + "ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("ca.pem contains no certificate")
	}
	return pool
}

// rejectLogins listens at an address and rejects the credentials of n connections.
func rejectLogins(t *testing.T, addr string, n int) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	for range n {
		c, err := l.Accept()
		if err != nil {
			t.Fatalf("fewer than %d attempts: %v", n, err)
		}
		fmt.Fprint(c, `INFO {"server_id":"x","version":"2.9.0","proto":1,"auth_required":true,"max_payload":1048576}`+"\r\n")
		bufio.NewReader(c).ReadString('\n')
		fmt.Fprint(c, "-ERR 'Authorization Violation'\r\n")
		c.Close()
	}
}

func TestWarningForOldClusterServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version  string
		replicas int
		warning  bool
	}{{"2.9.10", 3, true}, {"2.9.10", 1, false}, {"2.10.0", 3, false}} {
		log := &lines{}
		addr := serveGreeting(t, `INFO {"server_id":"x","version":"`+tt.version+`","proto":1,"max_payload":1048576}`+"\r\n")
		opts := jetstream.Options{URL: "nats://" + addr, Replicas: tt.replicas, Logger: log.logger()}
		jetstream.SetupWithin(&opts, time.Millisecond) // the server sends no further responses
		if e, err := jetstream.Open(t.Context(), opts); !errors.Is(err, jetstream.ErrNoLeader) {
			if err == nil {
				e.Close()
			}
			t.Errorf("silent server: %v, want ErrNoLeader", err)
		}
		if got := strings.Contains(log.String(), "may lose results"); got != tt.warning {
			t.Errorf("%s with %d replicas: %q", tt.version, tt.replicas, log)
		}
	}
}

func TestReconnectAfterRejectedLogins(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		dir := t.TempDir()
		config := func(port string) string {
			return fmt.Sprintf("listen: 127.0.0.1:%s\njetstream { store_dir: %q }\n%s", port, dir, loggedIn)
		}
		s := start(t, config("-1"))
		log := &lines{}
		e := open(t, jetstream.Options{URL: s.withLogin("u:s3cret"), Logger: log.logger()})
		if _, err := e.Submit(t.Context(), queue.Normal, "k", []byte("job")); err != nil {
			t.Fatal(err)
		}
		addr := strings.TrimPrefix(s.url, "nats://")
		s.stop()
		rejectLogins(t, addr, 4)
		_, port, _ := net.SplitHostPort(addr)
		start(t, config(port))
		if d := nextDelivery(t, e); string(d.Data()) != "job" {
			t.Errorf("delivered %q", d.Data())
		}
		if strings.Contains(log.String(), "s3cret") || log.count("authorization violation") != 1 {
			t.Errorf("log with a password, or without the authorization error:\n%s", log)
		}
	})
}

func TestFullQueue(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		e := open(t, jetstream.Options{URL: start(t, withJetStream(t, "")).url, MaxJobs: 2})
		for _, key := range []string{"a", "b"} {
			if _, err := e.Submit(t.Context(), queue.Normal, key, []byte(key)); err != nil {
				t.Fatal(err)
			}
		}
		checkFull(t, e, "c")
		if err := nextDelivery(t, e).Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Submit(t.Context(), queue.Normal, "c", []byte("c")); err != nil {
			t.Errorf("with room: %v", err)
		}
	})
}

// connect returns a NATS connection that the queue does not use.
func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func checkFull(t *testing.T, e *jetstream.Engine, key string) {
	t.Helper()
	_, err := e.Submit(t.Context(), queue.Normal, key, []byte(strings.Repeat(key, 1000)))
	if fetch.CodeOf(err) != fetch.ErrServer || !errors.Is(err, queue.ErrFull) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want ErrFull", err)
	}
}

func TestFullResultStream(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		s := start(t, withJetStream(t, ""))
		e := open(t, jetstream.Options{URL: s.url})
		conn := connect(t, s.url)
		js, err := natsjs.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.Stream(t.Context(), "urlget-results")
		if err != nil {
			t.Fatal(err)
		}
		setMaxBytes := func(bytes int64) {
			cfg := stream.CachedInfo().Config
			cfg.MaxBytes = bytes
			if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		setMaxBytes(10)
		if err := e.PutResult(t.Context(), "0123456789abcdef0123456789abcdef", []byte(`{"a":"result"}`)); err == nil || !strings.Contains(err.Error(), "maximum bytes exceeded") {
			t.Fatalf("PutResult to a full stream: %v, want maximum bytes exceeded", err)
		}
		if data, err := e.Result(t.Context(), "0123456789abcdef0123456789abcdef"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("result %q, %v, want none", data, err)
		}
		setMaxBytes(-1)
		if err := e.PutResult(t.Context(), "0123456789abcdef0123456789abcdef", []byte(`{"a":"result"}`)); err != nil {
			t.Errorf("with room: %v", err)
		}
	})
}

func TestInvalidMessagesBecomeDeadLetters(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		s := start(t, withJetStream(t, ""))
		e := open(t, jetstream.Options{URL: s.url})
		conn := connect(t, s.url)
		invalid := []string{"", "{", "\x00\xff", `{"v":1,"id":"x"}`, `{"v":2}`, strings.Repeat("[", 100_000)}
		for _, text := range invalid {
			if err := conn.Publish("urlget.jobs.normal", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse("data:,good")}); err != nil {
			t.Fatal(err)
		}
		store, err := queue.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		client := fetch.New(&fetch.Options{Policy: &fetch.Policy{Untrusted: true}}, data.Load)
		defer client.Close()
		w := &queue.Worker{Engine: e, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}, Store: store, Grace: -1}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		waitFor(t, "end of all jobs", func() bool {
			st, err := e.Status(t.Context())
			return err == nil && st.Depth() == 0 && st.Results == 1 && st.Dead == uint64(len(invalid))
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for d, err := range e.Dead(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			l, err := d.Letter()
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Retry(t.Context(), e); fetch.CodeOf(err) != fetch.ErrRequest {
				t.Errorf("Retry of %s: %v, want a request error", d.Data, err)
			}
		}
	})
}
