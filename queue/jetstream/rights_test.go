package jetstream_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/data"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// rightsFile is the server configuration with the rights of each role. docs/machines-reference.md contains it.
const rightsFile = "testdata/rights.conf"

func TestRightsAreDocumented(t *testing.T) {
	t.Parallel()
	conf, err := os.ReadFile(rightsFile)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/machines-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n```\n"+string(conf)+"```\n") {
		t.Errorf("docs/machines-reference.md does not contain %s", rightsFile)
	}
}

// roles are the users of the configuration, with what they may do.
var roles = map[string]struct {
	password string
	may      []string
}{
	"admin":     {"change-me-a", []string{"submit", "work", "status", "jobs", "results", "dead", "cancel", "pause", "purge", "crawls", "store", "content", "limits", "set limits", "workers"}},
	"submitter": {"change-me-s", []string{"submit", "status", "limits"}},
	"worker":    {"change-me-w", []string{"submit", "work", "status", "store", "content", "limits"}},
	"reader":    {"change-me-r", []string{"status", "jobs", "results", "dead", "crawls", "content", "limits", "workers"}},
}

// textSum is the digest of "text".
const textSum = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"

// actions has what the commands do with an engine.
var actions = map[string]func(context.Context, *jetstream.Engine, string) error{
	"submit": func(ctx context.Context, e *jetstream.Engine, name string) error {
		_, duplicate, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: uri.MustParse("data:," + name)})
		if err == nil { // the engine looks the duplicate up
			_, duplicate, err = queue.Submit(ctx, e, queue.Normal, &job.Job{URL: uri.MustParse("data:," + name)})
		}
		if err == nil && !duplicate {
			err = errors.New("the second submission is not a duplicate")
		}
		return err
	},
	"work": func(ctx context.Context, e *jetstream.Engine, _ string) error { return workOnce(ctx, e) },
	"status": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		_, err := e.Status(ctx)
		if err == nil {
			_, err = e.State(ctx)
		}
		return err
	},
	"jobs": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		return count(1)(e.Jobs(ctx, queue.High))
	},
	"results": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		return count(1)(e.Results(ctx, 0, false))
	},
	"dead": func(ctx context.Context, e *jetstream.Engine, _ string) error { return count(1)(e.Dead(ctx, 0)) },
	"cancel": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		err := e.DropJob(ctx, queue.Low, 1)
		if errors.Is(err, queue.ErrNotFound) {
			return nil
		}
		return err
	},
	"pause": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		return e.SetState(ctx, queue.Running)
	},
	"workers": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		for _, err := range e.Workers(ctx) {
			return err
		}
		return errors.New("the worker is not listed")
	},
	"limits": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		_, err := e.HostLimits(ctx)
		return err
	},
	"set limits": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		return e.SetHostLimits(ctx, []byte("a 1 -\n"))
	},
	"purge": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		_, err := e.PurgeDead(ctx)
		return err
	},
	"store": func(ctx context.Context, e *jetstream.Engine, name string) error {
		_, err := storeText(ctx, e, name)
		return err
	},
	"content": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		store, err := e.Objects(ctx, "")
		if err != nil {
			return err
		}
		r, err := store.Get(ctx, textSum)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.ReadAll(r)
		return err
	},
	"crawls": func(ctx context.Context, e *jetstream.Engine, _ string) error {
		_, err := e.Crawls(ctx)
		return err
	},
}

// storeText stores a body in the object store.
func storeText(ctx context.Context, e *jetstream.Engine, text string) (sum string, err error) {
	store, err := e.Objects(ctx, "")
	if err != nil {
		return "", err
	}
	spool, err := store.Begin()
	if err != nil {
		return "", err
	}
	defer spool.Discard()
	if _, err := io.WriteString(spool, text); err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(text))
	sum = hex.EncodeToString(digest[:])
	_, err = spool.Commit(ctx, sum)
	return sum, err
}

// count returns a function that checks the number of messages.
func count(want int) func(func(func(queue.Stored, error) bool)) error {
	return func(list func(func(queue.Stored, error) bool)) error {
		n := 0
		for _, err := range list {
			if err != nil {
				return err
			}
			n++
		}
		if n != want {
			return fmt.Errorf("%d messages, want %d", n, want)
		}
		return nil
	}
}

// workOnce runs a worker until it has finished a job of normal priority, or until it gives up.
func workOnce(ctx context.Context, e *jetstream.Engine) error {
	dir, err := os.MkdirTemp("", "rights")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, err := queue.OpenDir(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	client := fetch.New(&fetch.Options{Policy: &fetch.Policy{Untrusted: true}}, data.Load)
	defer client.Close()
	w := &queue.Worker{Engine: e, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}, Store: store, Grace: -1}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w.Engine = &stopAfterJob{e, stop}
	return w.Run(ctx)
}

// stopAfterJob is an engine that calls stop when a job of normal priority was acknowledged.
type stopAfterJob struct {
	*jetstream.Engine
	stop func()
}

func (s *stopAfterJob) Next(ctx context.Context) (queue.Delivery, error) {
	d, err := s.Engine.Next(ctx)
	if err == nil && d.Priority() == queue.Normal {
		return &acknowledged{d, s.stop}, nil
	}
	return d, err
}

type acknowledged struct {
	queue.Delivery
	stop func()
}

func (d *acknowledged) Ack(ctx context.Context) error {
	defer d.stop()
	return d.Delivery.Ack(ctx)
}

// TestRoles checks that each role may do its part with the documented configuration, and that all
// else is refused with an error that names the subject.
func TestRoles(t *testing.T) {
	onServers(t, func(t *testing.T, start starter) {
		conf, err := os.ReadFile(rightsFile)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, withJetStream(t, string(conf)))
		login := func(role string) jetstream.Options {
			return jetstream.Options{URL: s.withLogin(role + ":" + roles[role].password)}
		}
		checkOpenError(t, login("worker"), fetch.ErrRefused, "NATS denies to publish to $JS.API.STREAM.CREATE.urlget-jobs-high")
		admin := open(t, login("admin"))
		if _, err := admin.Submit(t.Context(), queue.High, "invalid", []byte("invalid")); err != nil {
			t.Fatal(err)
		}
		for _, put := range []func(context.Context, string, []byte) error{admin.PutResult, admin.PutDead} {
			if err := put(t.Context(), "x", []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if err := admin.PutWorker(t.Context(), "x", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if sum, err := storeText(t.Context(), admin, "text"); err != nil || sum != textSum {
			t.Fatal(sum, err)
		}
		for _, role := range []string{"reader", "submitter", "worker", "admin"} {
			e := open(t, login(role))
			for _, name := range []string{"status", "jobs", "results", "dead", "crawls", "submit", "work", "cancel", "pause", "purge", "store", "content", "limits", "set limits", "workers"} {
				if role == "admin" && slices.Contains([]string{"jobs", "results", "dead"}, name) {
					continue // the worker has changed them
				}
				err := actions[name](t.Context(), e, role)
				switch may := slices.Contains(roles[role].may, name); {
				case may && err != nil:
					t.Errorf("%s may not %s: %v", role, name, err)
				case !may && (fetch.CodeOf(err) != fetch.ErrRefused || !strings.Contains(err.Error(), "the credentials do not permit this: NATS denies to publish to ")):
					t.Errorf("%s may %s, or the error is unclear: %v", role, name, err)
				}
			}
		}
		// Nobody else receives the responses of a user.
		refused := make(chan error, 1)
		conn, err := nats.Connect(login("submitter").URL, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.SubscribeSync("_INBOX.worker.>"); err != nil {
			t.Fatal(err)
		}
		if err := <-refused; !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("subscription to the responses of a worker: %v, want a permissions violation", err)
		}
	})
}

func TestInboxPrefixOfUsers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, nkey, want string }{
		{"nats://h", "", "_INBOX"},
		{"nats://worker:secret@h", "", "_INBOX.worker"},
		{"nats://a, tls://worker:secret@b", "", "_INBOX.worker"},
		{"nats://token@h", "", "_INBOX"},
		{"nats://h", "UCNGL4W5", "_INBOX.UCNGL4W5"},
		{"nats://a.b:secret@h", "", "_INBOX"},
		{"nats://%3E:secret@h", "", "_INBOX"},
		{"nats://%zz@h", "", "_INBOX"},
	} {
		if got := jetstream.InboxPrefix(tt.url, tt.nkey); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.url, tt.nkey, got, tt.want)
		}
	}
}
