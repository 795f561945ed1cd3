package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/queue"
)

type submitFlags struct {
	list     string
	priority string
	receipt  string
	cookies  string
	ifOlder  age
	moved    storeFlags
	quiet    bool
	follow   crawlFlags
}

func (a *app) submitCommand() *cobra.Command {
	s := &submitFlags{}
	cmd := &cobra.Command{
		Use:   "submit [flags] URL...",
		Short: "Add URLs to a queue for workers to retrieve",
		Example: `  urlget submit -i urls.txt --nats nats://queue.example
  urlget submit --embedded ~/queue ftp://ftp.example/pub/a.zip
  urlget submit --crawl site --level inf https://www.example/`,
		Long: `Add URLs to a queue for workers to retrieve. A URL that was submitted within the
last hour is not added again.

With --if-older AGE, URLs that are unfinished or have a younger result are not
added, whichever list had them. An older result gives the request its entity tag
or modification time; if the server says that the content is unchanged, the new
result names the earlier content. "inf" adds only URLs without a result.

With --crawl NAME, the URLs are seeds of a new or existing crawl. Workers with
--crawl NAME follow their links and visit each page once. The flags that select
links are those of "urlget -r". The logins of the seeds and the cookies of
--load-cookies are stored once for the crawl, and not in its jobs.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.submit(cmd.Context(), s, args) },
	}
	f := cmd.Flags()
	a.queueFlags.define(f)
	f.StringVarP(&s.list, "input-file", "i", "",
		"also submit the URLs in `FILE`, or in standard input if it is -: one per line, or jobs as JSON")
	f.StringVar(&s.priority, "priority", string(queue.Normal),
		"set the priority to `WORD`: high, normal or low")
	f.StringVar(&s.receipt, "receipt", "",
		"append the list line, key and ID of each job to `FILE`, for \"queue audit\"")
	f.Var(&s.ifOlder, "if-older",
		"submit only URLs whose last result is older than `AGE`, such as 12h, 7d or inf")
	s.moved.defineMoved(f)
	words := []string{string(queue.High), string(queue.Normal), string(queue.Low)}
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	cmd.RegisterFlagCompletionFunc("priority", complete)
	s.follow.define(f)
	f.StringVar(&s.cookies, "load-cookies", "",
		"with --crawl, send the cookies in `FILE` (cookies.txt) to their hosts; replaces those "+
			"of an earlier submit")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print only errors")
	return cmd
}

func (s *submitFlags) check(crawl string, given []string) error {
	if s.list == "" && len(given) == 0 {
		return usage("submit requires a URL")
	}
	if err := checkPriority(s.priority); err != nil {
		return err
	}
	if set := s.follow.firstSet(); crawl == "" && set != "" {
		return usage("--%s requires --crawl NAME", set)
	}
	if s.cookies != "" && crawl == "" {
		return usage("--load-cookies requires --crawl NAME")
	}
	if s.receipt != "" && crawl != "" {
		return usage("--receipt does not apply to --crawl")
	}
	if s.ifOlder != 0 && crawl != "" {
		return usage("--if-older does not apply to --crawl")
	}
	return nil
}

func checkPriority(word string) error {
	if !slices.Contains(queue.Priorities, queue.Priority(word)) {
		return usage("--priority must be high, normal or low, not %q", word)
	}
	return nil
}

func (a *app) submit(ctx context.Context, s *submitFlags, args []string) error {
	if err := s.check(a.queueFlags.crawl, args); err != nil {
		return err
	}
	list, err := a.openList(s.list)
	if err != nil {
		return err
	}
	defer list.Close()
	jar, err := a.readCookies(s.cookies)
	if err != nil {
		return err
	}
	e, done, err := a.queueFlags.open(ctx, nil)
	if err != nil {
		return err
	}
	defer done()

	sub := &submitter{app: a, engine: e, priority: queue.Priority(s.priority)}
	moved, closeStore := s.moved.results(e)
	defer closeStore()
	if a.queueFlags.crawl != "" {
		if sub.crawl, err = s.follow.start(ctx, a.queueFlags.crawl, e, moved.Store); err != nil {
			return err
		}
		if s.cookies != "" {
			if err := sub.crawl.SetCookies(ctx, e, jar); err != nil {
				return err
			}
		}
		sub.client = fetch.New(nil, protocols.All)
		defer sub.client.Close()
	}
	if s.ifOlder != 0 {
		if sub.seen, err = readSeen(ctx, e, moved); err != nil {
			return err
		}
		if s.ifOlder != forever {
			sub.begin = time.Now().Add(-time.Duration(s.ifOlder))
		}
	}
	if s.receipt != "" {
		f, err := openReceipts(s.receipt)
		if err != nil {
			return fileError(err)
		}
		defer f.Close()
		sub.receipt = f
	}
	if err := sub.takeAll(ctx, args, s.list, list); err != nil {
		return err
	}
	if sub.receipt != nil {
		if err := sub.receipt.Sync(); err != nil {
			return fileError(err)
		}
	}
	if !s.quiet {
		fmt.Fprintf(a.err, "%d submitted, %d duplicate, %d refused", sub.submitted, sub.duplicates-sub.recent,
			sub.refused)
		if s.ifOlder != 0 {
			fmt.Fprintf(a.err, ", %d not older", sub.recent)
		}
		fmt.Fprintln(a.err)
		if sub.submitted > 0 && a.queueFlags.onOneServer(ctx, e) {
			fmt.Fprintln(a.err, "warning:", oneServer)
		}
	}
	if sub.refused > 0 {
		return &printedError{sub.status}
	}
	return nil
}

func openReceipts(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

func (a *app) openList(name string) (io.ReadCloser, error) {
	switch name {
	case "":
		return io.NopCloser(strings.NewReader("")), nil
	case "-":
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	return f, fileError(err)
}

type submitter struct {
	*app
	engine                         queue.Engine
	priority                       queue.Priority
	crawl                          *queue.Crawl  // nil without --crawl
	client                         *fetch.Client // has the schemes of a crawl
	receipt                        *os.File      // nil without --receipt
	seen                           seenJobs      // nil without --if-older
	begin                          time.Time     // results before it are older
	submitted, duplicates, refused int
	recent                         int // duplicates because of their results
	status                         int // exit status of the first refused URL
}

// submitAtOnce limits the submissions without a response. The servers of a queue with replicas store
// those that arrive together with one round trip between them.
const submitAtOnce = 64

// An entry is a URL or job of the user, and the response to it.
type entry struct {
	place     string // file name and line, or "" for an argument
	job       *job.Job
	id        string
	duplicate bool
	recent    bool // a duplicate because of its result
	err       error
	done      chan struct{} // closed when the fields above are set
}

// takeAll submits the arguments and the lines of the list, and reports the responses in that order.
func (s *submitter) takeAll(ctx context.Context, args []string, name string, list io.Reader) error {
	entries, read := make(chan *entry, submitAtOnce), make(chan error, 1)
	room, stop := make(chan struct{}, submitAtOnce), make(chan struct{})
	go func() {
		defer close(entries)
		read <- s.startAll(args, name, list, func(place, text string) bool {
			room <- struct{}{}
			select {
			case <-stop:
				return false
			default:
				entries <- s.start(ctx, place, text)
				return true
			}
		})
	}()
	for e := range entries {
		err := s.report(e)
		<-room
		if err == nil {
			continue
		}
		close(stop)
		for len(room) > 0 { // submissions on their way
			e, ok := <-entries
			if !ok {
				break
			}
			s.report(e)
			<-room
		}
		if n := s.submitted + s.duplicates; n > 0 {
			fmt.Fprintf(s.err, "urlget: stopped after %d URLs\n", n)
		}
		return err
	}
	return <-read
}

// startAll calls start for the arguments and lines until it returns false.
func (s *submitter) startAll(args []string, name string, list io.Reader,
	start func(place, text string) bool) error {
	for _, text := range args {
		if !start("", text) {
			return nil
		}
	}
	for line, err := range job.Lines(list) {
		if err != nil {
			return fileError(fmt.Errorf("%s: %w", name, err))
		}
		if !start(fmt.Sprintf("%s:%d", name, line.Number), line.Text) {
			return nil
		}
	}
	return nil
}

// start submits a URL or job of the user without waiting, except for a seed of a crawl.
func (s *submitter) start(ctx context.Context, place, text string) *entry {
	e := &entry{place: place, done: make(chan struct{})}
	if s.crawl != nil {
		defer close(e.done)
		e.duplicate, e.err = s.seed(ctx, text)
		return e
	}
	if e.job, e.err = parseJob(text, place != ""); e.err != nil {
		close(e.done)
		return e
	}
	last := ""
	if s.seen != nil {
		if last, e.recent = s.seen.take(queue.Key(e.job), s.begin); e.recent {
			e.duplicate = true
			close(e.done)
			return e
		}
	}
	go func() {
		defer close(e.done)
		if last == "" {
			e.id, e.duplicate, e.err = queue.Submit(ctx, s.engine, s.priority, e.job)
		} else {
			e.id, e.duplicate, e.err = queue.SubmitAfter(ctx, s.engine, s.priority, e.job, last)
		}
	}()
	return e
}

// report waits for the response and counts it. It prints errors of the URL or job. It returns errors
// of the queue and of the receipt, after which submitting is pointless.
func (s *submitter) report(e *entry) error {
	<-e.done
	switch class := fetch.CodeOf(e.err); {
	case e.err == nil && e.duplicate:
		s.duplicates++
		if e.recent {
			s.recent++
		}
		return s.writeReceipt(e)
	case e.err == nil:
		s.submitted++
		return s.writeReceipt(e)
	case errors.Is(e.err, queue.ErrDraining):
		err := fmt.Errorf("%w; use \"urlget queue resume\" to accept them", queue.ErrDraining)
		return &fetch.Error{Code: class, Err: err}
	case class != fetch.ErrRequest && class != fetch.ErrURL && class != fetch.ErrTooLarge:
		return e.err
	}
	if s.refused == 0 {
		s.status = job.ExitStatus(fetch.CodeOf(e.err))
	}
	s.refused++
	place := e.place
	if place != "" {
		place += ": "
	}
	fmt.Fprintf(s.err, "urlget: %s%s\n", fetch.Printable(place), fetch.Printable(e.err.Error()))
	return nil
}

func (s *submitter) writeReceipt(e *entry) error {
	if s.receipt == nil {
		return nil
	}
	r := receipt{Line: e.place, URL: e.job.URL.Redacted(), Key: queue.Key(e.job), ID: e.id}
	if e.duplicate {
		r.ID = "" // the earlier submission has another ID
	}
	return fileError(render.WriteJSON(s.receipt, r))
}

func parseJob(text string, line bool) (*job.Job, error) {
	if line && strings.HasPrefix(text, "{") {
		return job.Decode([]byte(text))
	}
	u, err := parse(text)
	return &job.Job{URL: u}, err
}

func parse(text string) (uri.URI, error) {
	u, err := uri.ParseLoose(text)
	switch {
	case err != nil:
		return u, &fetch.Error{Code: fetch.ErrURL, Err: err}
	case !u.IsAbs():
		err = errors.New("the URL has no scheme")
		return u, &fetch.Error{Code: fetch.ErrURL, URL: u.Redacted(), Err: err}
	}
	return u, nil
}
