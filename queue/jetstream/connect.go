package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
)

// connect connects to one of the servers. If the connection is lost later, it is made again, for as
// long as it takes.
func connect(ctx context.Context, o *Options) (*nats.Conn, error) {
	troubles := &once{logger: o.Logger}
	opts := []nats.Option{
		nats.Name("urlget"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(5 * time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Logger.Warn("the connection to NATS is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { o.Logger.Info("connected to NATS again", "server", c.ConnectedServerName()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			troubles.tell(err)
			if errors.Is(err, nats.ErrPermissionViolation) {
				o.denied(err)
			}
		}),
		// Credentials that are refused may be those of tomorrow, or a server is set up wrongly for a
		// while: a worker that is left alone goes on when they are right.
		nats.IgnoreAuthErrorAbort(),
	}
	for _, file := range []string{o.Credentials, o.NKey} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
		}
	}
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("%s holds no seed of a key: %w", o.NKey, err)}
		}
		opts = append(opts, key)
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	if o.TLS == nil && strings.Contains(o.URL, "@") && !strings.Contains(o.URL, "tls://") && !strings.Contains(o.URL, "wss://") {
		// The client would send the login of the URL to servers elsewhere that the one on loopback names.
		opts = append(opts, nats.IgnoreDiscoveredServers())
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess))
	}
	type made struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan made, 1)
	go func() {
		conn, err := nats.Connect(o.URL, opts...)
		done <- made{conn, err}
	}()
	select {
	case m := <-done:
		if m.err != nil {
			return nil, explain(o, m.err)
		}
		return m.conn, nil
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.conn.Close()
			}
		}()
		return nil, fetch.ContextError(ctx)
	}
}

// A once tells of troubles, but not of the same one again and again.
type once struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   string
	at     time.Time
}

// tellAgain is after what time the same is told again.
const tellAgain = time.Minute

func (o *once) tell(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := err.Error(); text != o.last || time.Since(o.at) > tellAgain {
		o.last, o.at = text, time.Now()
		o.logger.Warn("NATS", "error", err)
	}
}

// older reports whether a version is before another one. What is no version is not.
func older(v, than string) bool {
	a, b := numbers(v), numbers(than)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(v string) (n [3]int) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	for i, part := range strings.SplitN(v, ".", 3) {
		number, err := strconv.Atoi(part)
		if err != nil {
			return [3]int{1 << 20}
		}
		n[i] = number
	}
	return n
}

// checkLogins refuses a login in a URL that would be sent in clear to another machine.
func (o *Options) checkLogins() error {
	if o.TLS != nil || o.InProcess != nil {
		return nil
	}
	for text := range strings.SplitSeq(o.URL, ",") {
		text = strings.TrimSpace(text)
		if !strings.Contains(text, "://") { // the client takes it for one with nats://
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.User == nil || u.Scheme == "tls" || u.Scheme == "wss" || isLoopback(u.Hostname()) {
			continue // the client refuses URLs that cannot be parsed
		}
		return &fetch.Error{Code: fetch.ErrRequest,
			Err: fmt.Errorf("%s://%s: the login in the URL would be sent in clear; use tls://, or a key or credentials in a file", u.Scheme, u.Host)}
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// servers returns the URLs for messages, without what is secret in them.
func (o *Options) servers() string {
	if o.InProcess != nil {
		return "the embedded server"
	}
	var list []string
	for text := range strings.SplitSeq(o.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.Host == "" {
			list = append(list, "NATS")
			continue
		}
		list = append(list, u.Scheme+"://"+u.Host)
	}
	return strings.Join(list, ",")
}

// explain returns what an error means for those who use a queue, in one line.
func explain(o *Options, err error) error {
	wrap := func(code fetch.Code, retry bool, format string, args ...any) error {
		return &fetch.Error{Code: code, Retry: retry, Err: fmt.Errorf("%s: %w", o.servers(), fmt.Errorf(format, args...))}
	}
	var network net.Error
	var api *js.APIError
	switch {
	case fetch.CodeOf(err) != "":
		return err
	case errors.Is(err, ErrNoLeader):
		return wrap(fetch.ErrServer, true, "%w", err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired), strings.Contains(err.Error(), "Authorization Violation"):
		return wrap(fetch.ErrAuth, false, "the NATS server refuses the credentials")
	case errors.Is(err, nats.ErrPermissionViolation):
		return wrap(fetch.ErrRefused, false, "these credentials may not use the queue: %w", err)
	case errors.Is(err, js.ErrJetStreamNotEnabled), errors.Is(err, js.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, js.ErrNoStreamResponse):
		return wrap(fetch.ErrServer, true, "no JetStream there, or no majority of its servers: %w", err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return wrap(fetch.ErrTLS, false, "the NATS server has no TLS: %w", err)
	case strings.Contains(err.Error(), "tls error: connection closed by remote"):
		return wrap(fetch.ErrTLS, false, "the NATS server hangs up; perhaps it wants a certificate: %w", err)
	case errors.Is(err, nats.ErrSecureConnRequired), strings.Contains(err.Error(), "tls: "),
		strings.Contains(err.Error(), "x509: "):
		return wrap(fetch.ErrTLS, false, "%w", err)
	case errors.Is(err, nats.ErrNoInfoReceived):
		return wrap(fetch.ErrProtocol, false, "there is no NATS server: %w", err)
	case strings.Contains(err.Error(), "error signing nonce"):
		return &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("%s holds no credentials of NATS: %w", cmp.Or(o.Credentials, o.NKey), err)}
	case errors.Is(err, nats.ErrMaxPayload):
		return &fetch.Error{Code: fetch.ErrTooLarge, Err: fmt.Errorf("the job is longer than the server takes: %w", err)}
	case errors.Is(err, context.Canceled):
		return &fetch.Error{Code: fetch.ErrInterrupted, Err: err}
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrDisconnected), errors.Is(err, io.EOF), errors.As(err, &network):
		return wrap(fetch.ErrNetwork, true, "the NATS server cannot be reached: %w", err)
	case errors.As(err, &api):
		return wrap(fetch.ErrServer, api.Code >= 500, "%s", api.Description)
	}
	return wrap(fetch.ErrServer, false, "%w", err)
}

// codeNotAvailable is the number of the error of a server whose cluster has no leader.
const codeNotAvailable = 10008

func isUnavailable(err error) bool {
	var api *js.APIError
	return errors.As(err, &api) && api.ErrorCode == codeNotAvailable
}

// codeStoreFailed is the number of the error that a message could not be stored, which has the
// reason in its text only.
const codeStoreFailed = 10077

// isFull reports whether a stream has no room.
func isFull(err error) bool {
	var api *js.APIError
	return errors.As(err, &api) && (api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, "maximum") ||
		api.ErrorCode == 10023 || api.ErrorCode == 10047) // no resources, no storage
}
