package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// digits is a driver for a resource of ten bytes. Size is the reported size. It records its requests.
type digits struct {
	size     int64
	err      error // of OpStat
	requests []string
}

func (s *digits) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	s.requests = append(s.requests, fmt.Sprintf("%s %+v", req.Op, req.Range))
	if req.Op == fetch.OpStat && s.err != nil {
		return nil, s.err
	}
	return &fetch.Response{Meta: fetch.Meta{Size: s.size}, Body: io.NopCloser(strings.NewReader("0123456789"))}, nil
}

// A range relative to the end is passed to the driver in a form that the driver supports.
func TestRangesFromTheEnd(t *testing.T) {
	t.Parallel()
	get, both := []fetch.Op{fetch.OpGet}, []fetch.Op{fetch.OpGet, fetch.OpStat}
	lost := &fetch.Error{Code: fetch.ErrNotFound}
	tests := []struct {
		name     string
		scheme   fetch.Scheme
		size     int64
		err      error
		last     int64
		requests string
	}{
		{"as it is", fetch.Scheme{Ops: both, Ranges: true, RangeSets: true}, 10, nil, 3, "get {Offset:-3 Length:0}"},
		{"by the size", fetch.Scheme{Ops: both, Ranges: true}, 10, nil, 3, "stat {Offset:0 Length:0}, get {Offset:7 Length:0}"},
		{"all there is", fetch.Scheme{Ops: both, Ranges: true}, 10, nil, 10, "stat {Offset:0 Length:0}, get {Offset:0 Length:0}"},
		{"more than there is", fetch.Scheme{Ops: both, Ranges: true}, 10, nil, 11, "stat {Offset:0 Length:0}, get {Offset:0 Length:0}"},
		{"of unknown size", fetch.Scheme{Ops: both, Ranges: true}, -1, nil, 3, "stat {Offset:0 Length:0}, get {Offset:0 Length:0}"},
		{"no metadata", fetch.Scheme{Ops: get, Ranges: true}, 10, nil, 3, "get {Offset:0 Length:0}"},
		{"no metadata of this one", fetch.Scheme{Ops: both, Ranges: true}, 10, errors.ErrUnsupported, 3, "stat {Offset:0 Length:0}, get {Offset:0 Length:0}"},
		{"no ranges", fetch.Scheme{Ops: both}, 10, nil, 3, "get {Offset:0 Length:0}"},
		{"not there", fetch.Scheme{Ops: both, Ranges: true}, 10, lost, 3, "stat {Offset:0 Length:0}"},
	}
	for _, tt := range tests {
		s := &digits{size: tt.size, err: tt.err}
		tt.scheme.Name, tt.scheme.Driver = "x-digits", s
		ended := 0
		c := fetch.New(&fetch.Options{Proxy: noProxy, Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
			return &fetch.Recording{End: func(error) { ended++ }}
		})}, func(_ fetch.Env, reg *fetch.Registry) { reg.Register(tt.scheme) })
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("x-digits:a"), Range: fetch.Range{Offset: -tt.last}})
		if err == nil {
			resp.Body.Close()
		}
		if errors.Is(err, fetch.ErrNotFound) != (tt.err == lost) || err != nil && tt.err != lost || strings.Join(s.requests, ", ") != tt.requests {
			t.Errorf("%s: asked for %q, %v; want %s", tt.name, s.requests, err, tt.requests)
		}
		if ended != len(s.requests) {
			t.Errorf("%s: %d exchanges, %d ended", tt.name, len(s.requests), ended)
		}
	}
}

func TestInvalidRanges(t *testing.T) {
	t.Parallel()
	s := &digits{size: 10}
	c := fetch.New(&fetch.Options{Proxy: noProxy}, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-digits", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: s})
		reg.Register(fetch.Scheme{Name: "x-sets", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, RangeSets: true, Driver: s})
	})
	some := []fetch.Range{{Offset: 0, Length: 1}, {Offset: -1}}
	for _, tt := range []struct {
		url string
		req fetch.Request
		ok  bool
	}{
		{"x-digits:a", fetch.Request{Range: fetch.Range{Offset: 1, Length: -1}}, false},
		{"x-digits:a", fetch.Request{Range: fetch.Range{Offset: -1, Length: 1}}, false},
		{"x-digits:a", fetch.Request{Ranges: some}, false},
		{"x-sets:a", fetch.Request{Ranges: some}, true},
		{"x-sets:a", fetch.Request{Ranges: some, Range: fetch.Range{Offset: 1}}, false},
		{"x-sets:a", fetch.Request{Ranges: slices.Concat(some, []fetch.Range{{Length: -1}})}, false},
	} {
		tt.req.URL = uri.MustParse(tt.url)
		s.requests = nil
		resp, err := c.Do(t.Context(), &tt.req)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != tt.ok || err != nil && fetch.CodeOf(err) != fetch.ErrRange || (len(s.requests) > 0) != tt.ok {
			t.Errorf("%s with %+v: %v, asked for %q", tt.url, tt.req.Ranges, err, s.requests)
		}
	}
}
