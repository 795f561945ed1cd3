package main

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/queue"
)

// An age is the duration of --if-older: a duration such as 12h, a number of days such as 7d, or "inf".
type age time.Duration

const forever = age(math.MaxInt64)

func (a *age) String() string {
	switch *a {
	case 0:
		return ""
	case forever:
		return "inf"
	}
	return time.Duration(*a).String()
}

func (a *age) Type() string { return "age" }

func (a *age) Set(text string) error {
	if text == "inf" {
		*a = forever
		return nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return errors.New("must be a time such as 12h or 7d, or inf")
	}
	*a = age(d)
	return nil
}

// seenJobs holds the jobs that a queue has or had. A list may have millions, so keys and IDs are in binary.
type seenJobs map[[20]byte]seenJob

type seenJob struct {
	at   int64    // time of the last result in Unix milliseconds; noResult if the job is unfinished
	last [16]byte // ID of the last submission whose result has a content; zero if there is none
}

const noResult = math.MaxInt64

// readSeen reads the jobs before the results, because a job that ends in between has a result.
func readSeen(ctx context.Context, e queue.Admin, r *queue.Results) (seenJobs, error) {
	s := seenJobs{}
	for _, p := range queue.Priorities {
		for m, err := range e.Jobs(ctx, p) {
			if err != nil {
				return nil, err
			}
			if _, j, err := m.Job(); err == nil {
				s.submitted(queue.Key(j))
			}
		}
	}
	return s, eachEvent(r.All(ctx, 0, false), s.addResult)
}

func (s seenJobs) addResult(id string, ev *queue.Event) {
	key, ok := seenKey(ev.Key)
	at, err := time.Parse(time.RFC3339, ev.Time)
	if !ok || err != nil || ev.IsCancelled() {
		return
	}
	j := s[key]
	j.at = max(j.at, at.UnixMilli())
	if ev.SHA256 != "" && len(id) == hex.EncodedLen(len(j.last)) {
		hex.Decode(j.last[:], []byte(id))
	}
	s[key] = j
}

// submitted records a job that has no result yet.
func (s seenJobs) submitted(key string) {
	if k, ok := seenKey(key); ok {
		s[k] = seenJob{at: noResult}
	}
}

// find reports whether a job is unfinished or has a result after begin. Otherwise it returns the ID of
// the last submission whose result has a content, or "".
func (s seenJobs) find(key string, begin time.Time) (last string, recent bool) {
	k, ok := seenKey(key)
	j := s[k]
	if !ok || j.at == 0 || j.at >= begin.UnixMilli() {
		return "", j.at != 0
	}
	if j.last == [16]byte{} {
		return "", false
	}
	return hex.EncodeToString(j.last[:]), false
}

// take is find, and records the job if it is not recent, because it is submitted next.
func (s seenJobs) take(key string, begin time.Time) (last string, recent bool) {
	if last, recent = s.find(key, begin); !recent {
		s.submitted(key)
	}
	return last, recent
}

func seenKey(key string) (k [20]byte, ok bool) {
	if len(key) != hex.EncodedLen(len(k)) {
		return k, false
	}
	_, err := hex.Decode(k[:], []byte(key))
	return k, err == nil
}
