package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// poems registers the scheme of these examples. Most programs use protocols.All.
func poems(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-poem", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
		func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
			if req.URL.LastSegment() == "lost" {
				return nil, &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 404, Text: "Not Found"}}
			}
			text := "a poem about " + req.URL.LastSegment() + "\n"
			return &fetch.Response{Meta: fetch.Meta{Size: int64(len(text))}, Body: io.NopCloser(strings.NewReader(text))}, nil
		})})
}

// One URL becomes a file.
func ExampleRunner() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()
	client := fetch.New(nil, poems)
	defer client.Close()

	files := &download.Downloader{Client: client, Root: root}
	runner := &job.Runner{Downloader: files}
	result := runner.Run(context.Background(), &job.Job{URL: uri.MustParse("x-poem://example/rain"), Output: "weather/"}, nil)
	if result.Err != nil {
		fmt.Println(result.Err)
		return
	}
	if err := files.Flush(); err != nil { // now the file survives a power failure
		fmt.Println(err)
		return
	}
	fmt.Println(result.Outcome, result.Path, result.Size)
	// Output:
	// saved weather/rain 18
}

// Four goroutines process a list of URLs.
func ExampleRunner_pool() {
	client := fetch.New(nil, poems)
	defer client.Close()
	runner := &job.Runner{Downloader: &download.Downloader{Client: client}}

	jobs, results := make(chan *job.Job), make(chan *job.Result)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for j := range jobs {
				results <- runner.Run(context.Background(), j, &job.Hooks{Writer: io.Discard})
			}
		})
	}
	go func() {
		for _, name := range []string{"rain", "lost", "snow"} {
			jobs <- &job.Job{URL: uri.MustParse("x-poem://example/" + name)}
		}
		close(jobs)
		workers.Wait()
		close(results)
	}()

	var lines []string
	for r := range results {
		line := fmt.Sprint(r.URL, ": ", r.Outcome, " ", r.Size)
		if r.Err != nil {
			line = fmt.Sprint(r.URL, ": ", r.Message)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines) // the jobs end in any order
	fmt.Println(strings.Join(lines, "\n"))
	// Output:
	// x-poem://example/lost: not found (404 Not Found)
	// x-poem://example/rain: saved 18
	// x-poem://example/snow: saved 18
}

// Jobs and results are JSON, one per line.
func ExampleDecode() {
	client := fetch.New(nil, poems)
	defer client.Close()
	runner := &job.Runner{Downloader: &download.Downloader{Client: client}, SHA256: true}

	results := json.NewEncoder(os.Stdout)
	for _, line := range []string{
		`{"url": "x-poem://example/rain", "header": ["Accept-Language: en"]}`,
		`{"url": "x-poem://joe:secret@example/lost", "attempt": 1}`,
		`{"url": "x-poem://example/rain", "output": "../../etc/rain"}`,
	} {
		j, err := job.Decode([]byte(line))
		if err != nil {
			fmt.Println(err)
			continue
		}
		r := runner.Run(context.Background(), j, &job.Hooks{Writer: io.Discard})
		r.Started, r.Elapsed = time.Time{}, 0 // they differ between runs
		if err := results.Encode(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// {"url":"x-poem://example/rain","outcome":"saved","kind":"object","received":18,"sha256":"03b4f440a628933a99862745ce393593f727916b3b6b3572f3b0609c8fda0ecf","bytes":18}
	// {"url":"x-poem://joe:xxxxx@example/lost","attempt":1,"outcome":"failed","status":404,"reply":"404 Not Found","class":"not_found","message":"not found (404 Not Found)"}
	// get x-poem://example/rain: malformed request: output: "../../etc/rain" does not name a file below the directory
}

// The end of a job is reported as a line of JSON.
func ExampleResult_Event() {
	r := &job.Result{URL: "ftp://ftp.example/rain", Outcome: job.Saved, Size: 18, Received: 9, Elapsed: 2 * time.Second}
	ev := r.Event("weather/rain")
	ev.Time = "2026-03-04T05:06:07Z"
	if err := json.NewEncoder(os.Stdout).Encode(ev); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"event":"saved","url":"ftp://ftp.example/rain","time":"2026-03-04T05:06:07Z","bytes":18,"path":"weather/rain","seconds":2,"rate":5}
}
