package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/queue"
)

// submission is what the flags of submit say.
type submission struct {
	list     string
	priority string
	quiet    bool
	follow   following
}

func (a *app) submitCommand() *cobra.Command {
	s := &submission{}
	cmd := &cobra.Command{
		Use:   "submit [flags] URL...",
		Short: "Put URLs into a queue, for workers to retrieve",
		Long: `Put URLs into a queue, for workers to retrieve. A URL that was submitted within
the last hour is not taken a second time.

With --crawl NAME the URLs are where a crawl begins, or further places for one that
has begun: workers with --crawl NAME follow what they lead to, each page once. The
flags that say what to follow are those of "urlget -r".`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.submit(cmd.Context(), s, args) },
	}
	f := cmd.Flags()
	a.reach.define(f)
	f.StringVarP(&s.list, "input-file", "i", "", "submit the URLs in `FILE` too, or \"-\": one a line, or jobs as JSON")
	f.StringVar(&s.priority, "priority", string(queue.Normal), "`WORD`: high, normal or low")
	words := []string{string(queue.High), string(queue.Normal), string(queue.Low)}
	cmd.RegisterFlagCompletionFunc("priority", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	s.follow.define(f)
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print only what goes wrong")
	return cmd
}

func (a *app) submit(ctx context.Context, s *submission, args []string) error {
	if s.list == "" && len(args) == 0 {
		return usage("submit: no URL given")
	}
	switch queue.Priority(s.priority) {
	case queue.High, queue.Normal, queue.Low:
	default:
		return usage("--priority: want high, normal or low, not %q", s.priority)
	}
	if given := s.follow.given(); a.reach.crawl == "" && given != "" {
		return usage("--%s says how to crawl: it needs --crawl NAME", given)
	}
	list, err := a.openList(s.list)
	if err != nil {
		return err
	}
	defer list.Close()
	e, done, err := a.reach.open(ctx, nil)
	if err != nil {
		return err
	}
	defer done()

	sub := &submitter{app: a, engine: e, priority: queue.Priority(s.priority)}
	if a.reach.crawl != "" {
		if sub.crawl, err = s.follow.start(ctx, a.reach.crawl, e); err != nil {
			return err
		}
		sub.client = fetch.New(nil, protocols.All)
		defer sub.client.Close()
	}
	for _, text := range args {
		if err := sub.take(ctx, "", text); err != nil {
			return err
		}
	}
	for line, err := range job.Lines(list) {
		if err != nil {
			return fileError(fmt.Errorf("%s: %w", s.list, err))
		}
		if err := sub.take(ctx, fmt.Sprintf("%s:%d", s.list, line.Number), line.Text); err != nil {
			return err
		}
	}
	if !s.quiet {
		fmt.Fprintf(a.err, "%d submitted, %d there already, %d refused\n", sub.taken, sub.duplicates, sub.refused)
	}
	if sub.refused > 0 {
		return &toldError{sub.status}
	}
	return nil
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

// A submitter submits jobs and counts what becomes of them.
type submitter struct {
	*app
	engine                     queue.Engine
	priority                   queue.Priority
	crawl                      *queue.Crawl  // nil if jobs are submitted
	client                     *fetch.Client // knows the schemes of a crawl
	taken, duplicates, refused int
	status                     int // that the first refusal stands for
}

// take submits what the user gave at a place. What is wrong with it is told; an error is one of the
// queue, after which there is no use in going on.
func (s *submitter) take(ctx context.Context, place, text string) error {
	duplicate, err := s.submit(ctx, text, place != "")
	switch class := fetch.CodeOf(err); {
	case err == nil && duplicate:
		s.duplicates++
		return nil
	case err == nil:
		s.taken++
		return nil
	case class != fetch.ErrRequest && class != fetch.ErrURL && class != fetch.ErrTooLarge:
		return fmt.Errorf("after %d of the URLs: %w", s.taken+s.duplicates, err)
	}
	if s.refused == 0 {
		s.status = job.ExitStatus(fetch.CodeOf(err))
	}
	s.refused++
	if place != "" {
		place += ": "
	}
	fmt.Fprintf(s.err, "urlget: %s%s\n", fetch.Printable(place), fetch.Printable(err.Error()))
	return nil
}

// submit submits what the user gave, and reports whether it is there already.
func (s *submitter) submit(ctx context.Context, text string, line bool) (duplicate bool, err error) {
	if s.crawl != nil {
		return s.seed(ctx, text)
	}
	j, err := understand(text, line)
	if err != nil {
		return false, err
	}
	_, duplicate, err = queue.Submit(ctx, s.engine, s.priority, j)
	return duplicate, err
}

// understand returns the job of a URL or, in a list, of a line of JSON.
func understand(text string, line bool) (*job.Job, error) {
	if line && strings.HasPrefix(text, "{") {
		return job.Decode([]byte(text))
	}
	u, err := uri.ParseLoose(text)
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	if !u.IsAbs() {
		return nil, &fetch.Error{Code: fetch.ErrURL, URL: u.Redacted(), Err: errors.New("the URL has no scheme")}
	}
	return &job.Job{URL: u}, nil
}
