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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
)

// connect connects to one of the servers. The connection reconnects without a time limit.
func connect(ctx context.Context, o *Options) (*nats.Conn, error) {
	errorLog := &errorLog{logger: o.Logger}
	opts := []nats.Option{
		nats.Name("urlget"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.Timeout(5 * time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Logger.Warn("lost the connection to NATS", "error", err)
			}
			o.lost()
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			o.Logger.Info("reconnected to NATS", "server",
				c.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			errorLog.log(err)
			if errors.Is(err, nats.ErrPermissionViolation) {
				o.denied(err)
			}
		}),
		// Authorization errors do not stop reconnecting: credentials may become valid later, or a
		// server may be misconfigured temporarily.
		nats.IgnoreAuthErrorAbort(),
	}
	login, err := o.login()
	if err != nil {
		return nil, err
	}
	opts = append(opts, login...)
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

// login returns the options for credentials and TLS, and restricts the servers that get them.
func (o *Options) login() ([]nats.Option, error) {
	for _, file := range []string{o.Credentials, o.NKey} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
		}
	}
	var opts []nats.Option
	var nkey string
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, &fetch.Error{Code: fetch.ErrFile,
				Err: fmt.Errorf("%s does not contain an NKey seed: %w", o.NKey, err)}
		}
		var set nats.Options
		if err := key(&set); err != nil {
			return nil, err
		}
		nkey = set.Nkey
		opts = append(opts, key)
	}
	opts = append(opts, nats.CustomInboxPrefix(o.inboxPrefix(nkey)))
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	if o.TLS == nil && strings.Contains(o.URL, "@") && !strings.Contains(o.URL, "tls://") &&
		!strings.Contains(o.URL, "wss://") {
		// The client would send the login of the URL to servers elsewhere that the one on loopback
		// announces.
		opts = append(opts, nats.IgnoreDiscoveredServers())
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess))
	}
	return opts, nil
}

// An errorLog logs errors, but not the same error repeatedly.
type errorLog struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   string
	at     time.Time
}

const repeatInterval = time.Minute

func (o *errorLog) log(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := err.Error(); text != o.last || time.Since(o.at) > repeatInterval {
		o.last, o.at = text, time.Now()
		o.logger.Warn("NATS", "error", err)
	}
}

// isOlder reports whether version v is before than. An invalid version is not older.
func isOlder(v, than string) bool {
	a, b := numbers(v), numbers(than)
	return slices.Compare(a[:], b[:]) < 0
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

// checkLogins returns an error if a login in a URL would be sent in clear text to another machine.
func (o *Options) checkLogins() error {
	if o.TLS != nil || o.InProcess != nil {
		return nil
	}
	for text := range strings.SplitSeq(o.URL, ",") {
		text = strings.TrimSpace(text)
		if !strings.Contains(text, "://") { // the client adds the scheme nats
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.User == nil || u.Scheme == "tls" || u.Scheme == "wss" || isLoopback(u.Hostname()) {
			continue // the client reports URLs that cannot be parsed
		}
		return &fetch.Error{Code: fetch.ErrRequest,
			Err: fmt.Errorf("%s://%s: the login in the URL would be sent in clear text; use tls://, or a "+
				"key or credentials in a file", u.Scheme, u.Host)}
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// servers returns the URLs for messages, without secrets.
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

func explain(o *Options, err error) error {
	wrap := func(code fetch.Code, retry bool, format string, args ...any) error {
		return &fetch.Error{Code: code, Retry: retry,
			Err: fmt.Errorf("%s: %w", o.servers(), fmt.Errorf(format, args...))}
	}
	var network net.Error
	var api *js.APIError
	switch {
	case err == nil, fetch.CodeOf(err) != "":
		return err
	case errors.Is(err, ErrNoLeader):
		return wrap(fetch.ErrServer, true, "%w", err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired), strings.Contains(err.Error(), "Authorization Violation"):
		return wrap(fetch.ErrAuth, false, "the NATS server rejected the credentials")
	case errors.Is(err, nats.ErrPermissionViolation):
		return deniedError(o, err)
	case errors.Is(err, js.ErrJetStreamNotEnabled), errors.Is(err, js.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, js.ErrNoStreamResponse):
		return wrap(fetch.ErrServer, true,
			"JetStream is not enabled, or most of its servers are not available: %w", err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return wrap(fetch.ErrTLS, false, "the NATS server does not support TLS: %w", err)
	case strings.Contains(err.Error(), "tls error: connection closed by remote"):
		return wrap(fetch.ErrTLS, false,
			"the NATS server closed the connection; it may require a client certificate: %w", err)
	case errors.Is(err, nats.ErrSecureConnRequired), strings.Contains(err.Error(), "tls: "),
		strings.Contains(err.Error(), "x509: "):
		return wrap(fetch.ErrTLS, false, "%w", err)
	case errors.Is(err, nats.ErrNoInfoReceived):
		return wrap(fetch.ErrProtocol, false, "the peer is not a NATS server: %w", err)
	case strings.Contains(err.Error(), "error signing nonce"):
		return &fetch.Error{Code: fetch.ErrFile,
			Err: fmt.Errorf("%s does not contain NATS credentials: %w", cmp.Or(o.Credentials, o.NKey), err)}
	case errors.Is(err, nats.ErrMaxPayload):
		return &fetch.Error{Code: fetch.ErrTooLarge,
			Err: fmt.Errorf("the job exceeds the maximum message size of the server: %w", err)}
	case errors.Is(err, context.Canceled):
		return &fetch.Error{Code: fetch.ErrInterrupted, Err: err}
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.Is(err,
		nats.ErrConnectionClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrDisconnected), errors.Is(err,
			io.EOF), errors.As(err, &network):
		return wrap(fetch.ErrNetwork, true, "cannot reach the NATS server: %w", err)
	case errors.As(err, &api):
		return wrap(fetch.ErrServer, api.Code >= 500, "%s", api.Description)
	}
	return wrap(fetch.ErrServer, false, "%w", err)
}

// Error codes of the server for which the client has no names.
const (
	codeNotAvailable js.ErrorCode = 10008 // the cluster has no leader
	codeNoResources  js.ErrorCode = 10023
	codeNoStorage    js.ErrorCode = 10047
	codeStoreFailed  js.ErrorCode = 10077 // the text contains the reason
)

func hasCode(err error, codes ...js.ErrorCode) bool {
	var api *js.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

func isFull(err error) bool {
	return hasCode(err, codeNoResources, codeNoStorage) ||
		hasCode(err, codeStoreFailed) && strings.Contains(err.Error(), "maximum")
}
