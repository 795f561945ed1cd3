package fetch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

var nop = fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, nil })

func TestRegisterPanics(t *testing.T) {
	t.Parallel()
	tests := map[string]fetch.Scheme{
		"without a driver":   {Name: "b"},
		"bad scheme name":    {Name: "B", Driver: nop},
		"bad scheme name \"": {Driver: nop},
		"called twice":       {Name: "a", Driver: nop},
	}
	for want, s := range tests {
		func() {
			var r fetch.Registry
			r.Register(fetch.Scheme{Name: "a", Driver: nop})
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, want) {
					t.Errorf("Register(%+v) panicked with %q, want %q", s, text, want)
				}
			}()
			r.Register(s)
		}()
	}
}

func TestSchemesAreSorted(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, fetch.Use("z", nop), fetch.Use("a", nop), fetch.Use("m", nop))
	var names []string
	for _, s := range c.Schemes() {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"a", "m", "z"}) {
		t.Errorf("schemes %q", names)
	}
}

func TestSchemeState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ops  []fetch.Op
		want string
	}{
		{[]fetch.Op{fetch.OpGet, fetch.OpDial}, "retrieves"},
		{[]fetch.Op{fetch.OpList}, "retrieves"},
		{[]fetch.Op{fetch.OpDial}, "session"},
		{nil, "names_only"},
	}
	for _, tt := range tests {
		if got := (fetch.Scheme{Ops: tt.ops}).State(); got != tt.want {
			t.Errorf("%v: state %q, want %q", tt.ops, got, tt.want)
		}
	}
}

func TestReplaceAndRemove(t *testing.T) {
	t.Parallel()
	other := fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, fetch.ErrBusy })
	c := fetch.New(nil, fetch.Use("a", nop), fetch.Use("b", nop), fetch.Use("c", nop), func(_ fetch.Env, reg *fetch.Registry) {
		reg.Remove("b", "there is none")
		reg.Replace(fetch.Scheme{Name: "c", Ops: []fetch.Op{fetch.OpGet}, Driver: other})
		reg.Replace(fetch.Scheme{Name: "d", Ops: []fetch.Op{fetch.OpGet}, Driver: other})
	})
	for rawURL, want := range map[string]fetch.Code{
		"a:x": fetch.ErrProtocol, // from nop
		"b:x": fetch.ErrScheme,
		"c:x": fetch.ErrBusy,
		"d:x": fetch.ErrBusy,
	} {
		if _, err := c.Get(t.Context(), rawURL); fetch.CodeOf(err) != want {
			t.Errorf("%s: error %v, want class %q", rawURL, err, want)
		}
	}
}

// Neither Do nor Explain passes an operation to a driver that did not declare it.
func TestOpsAreEnforced(t *testing.T) {
	t.Parallel()
	for _, declared := range []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList, fetch.OpDial} {
		var seen []fetch.Op
		c := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-one", Ops: []fetch.Op{declared}, Driver: fetch.DriverFunc(
				func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
					seen = append(seen, req.Op)
					return nil, fetch.ErrBusy
				})})
		})
		for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList, fetch.OpDial} {
			req := &fetch.Request{URL: uri.MustParse("x-one:a"), Op: op}
			_, err := c.Do(t.Context(), req)
			_, xerr := c.Explain(req)
			if op == declared {
				if fetch.CodeOf(err) != fetch.ErrBusy || xerr != nil {
					t.Errorf("%v: %v, %v", op, err, xerr)
				}
			} else if !errors.Is(err, errors.ErrUnsupported) || !errors.Is(xerr, errors.ErrUnsupported) {
				t.Errorf("%v of a scheme that has %v: %v, %v", op, declared, err, xerr)
			}
		}
		if !slices.Equal(seen, []fetch.Op{declared}) {
			t.Errorf("the driver of %v saw %v", declared, seen)
		}
	}
}

// An operation that the scheme does not support is refused without calling the driver.
func TestUnsupportedOperations(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{}
	c := fetch.New(&fetch.Options{Proxy: noProxy}, web.load)
	if _, err := c.Get(t.Context(), "telnet://h/"); fetch.CodeOf(err) != fetch.ErrInteractive || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Get of a session: %v", err)
	}
	if _, err := c.Dial(t.Context(), "http://h/"); fetch.CodeOf(err) != fetch.ErrNotRetrievable || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Dial of a document: %v", err)
	}
	if requested := web.urls(); len(requested) > 0 {
		t.Errorf("the driver was asked for %q", requested)
	}
	if _, err := c.Get(t.Context(), "mailto:a@b"); fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("a scheme that only names things should be answered by its driver: %v", err)
	}
}

func TestDriverReturnsNil(t *testing.T) {
	t.Parallel()
	for name, resp := range map[string]*fetch.Response{"no response": nil, "no body": {}} {
		c := fetch.New(nil, fetch.Use("x", fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) { return resp, nil })))
		if _, err := c.Get(t.Context(), "x:y"); fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRegisterPrefix(t *testing.T) {
	t.Parallel()
	var looked []string
	c := fetch.New(nil, fetch.Use("x-known", nop), func(_ fetch.Env, reg *fetch.Registry) {
		reg.RegisterPrefix("x-", func(name string) (fetch.Scheme, bool) {
			looked = append(looked, name)
			return fetch.Scheme{Name: name, Local: true, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
				func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, fetch.ErrBusy })}, name == "x-found"
		})
	})
	for rawURL, want := range map[string]fetch.Code{
		"x-known:a": fetch.ErrProtocol, // from nop
		"x-found:a": fetch.ErrBusy,
		"x-lost:a":  fetch.ErrScheme,
		"y:a":       fetch.ErrScheme,
	} {
		if _, err := c.Get(t.Context(), rawURL); fetch.CodeOf(err) != want {
			t.Errorf("%s: error %v, want class %q", rawURL, err, want)
		}
	}
	if slices.Contains(looked, "x-known") || slices.Contains(looked, "y") {
		t.Errorf("looked for %q", looked)
	}
	// The policy applies to schemes found by prefix.
	req := &fetch.Request{URL: uri.MustParse("x-found:a"), From: uri.MustParse("http://h/")}
	if _, err := c.Do(t.Context(), req); fetch.CodeOf(err) != fetch.ErrPolicy {
		t.Errorf("a remote party led to a local scheme: %v", err)
	}
}
