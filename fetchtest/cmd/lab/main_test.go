package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/faultproxy"
	"github.com/urlget/urlget/fetchtest/loopback"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/tftp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct{ args, want string }{
		{"", ""},
		{"-port 7000 http hostile", ""},
		{"-fault bit-flip -after 0 -times 1", ""},
		{"-fail short ftp", ""},
		{"shiny", `no server "shiny"`},
		{"-port 0", "want a number"},
		{"-port 65500", "want a number"},
		{"-fault short", `no fault "short": want one of delay, chop`},
		{"-fail flip", `no failure "flip": want one of cut`},
		{"-shiny", "flag provided but not defined"},
	}
	for _, tt := range tests {
		_, err := parse(strings.Fields(tt.args))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("lab %s: %v, want %q", tt.args, err, tt.want)
		}
	}
	if _, err := parse([]string{"-help"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-help: %v", err)
	}
	o, err := parse(strings.Fields("-fault bit-flip -fail half-close"))
	if err != nil || o.fault.Kind != faultproxy.Flip || o.fail != servers.HalfClose || !slices.Equal(o.servers, names()) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestHelpListsEverything(t *testing.T) {
	t.Parallel()
	text := help()
	for _, name := range names() {
		if !strings.Contains(text, "\n  "+name+" ") {
			t.Errorf("the help does not list %s", name)
		}
	}
	for _, l := range loopback.Lies() {
		if !strings.Contains(text, "/"+l.Name+"/") {
			t.Errorf("the help does not list %s", l.Name)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 101 {
			t.Errorf("the help has a line of %d columns: %s", len(line), line)
		}
	}
}

// start runs the lab with args on free ports, and returns the lines that it prints. The ports are below
// those that systems choose for other connections, because the lab needs many in a row. They are also
// below its default ports and those of integration/lab, whose tests may run at the same time.
func start(t *testing.T, args ...string) (lines []string) {
	t.Helper()
	for range 20 {
		o, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		o.port = 10_000 + rand.IntN(firstPort-10_000-behind-len(names()))
		ctx, stop := context.WithCancel(context.Background())
		r, w := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := run(ctx, w, o)
			w.CloseWithError(io.EOF)
			ended <- err
		}()
		lines = nil
		for in := bufio.NewScanner(r); in.Scan(); {
			if lines = append(lines, in.Text()); strings.HasPrefix(in.Text(), "serving") {
				break
			}
		}
		if len(lines) > 0 {
			t.Cleanup(func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			return lines
		}
		stop()
		if err := <-ended; !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
	t.Fatal("no free ports")
	return nil
}

func TestServersAnswerAndFail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args string
		want []string // the classes of errors of the servers' documents, or ""
	}{
		{"http ftp gopher hostile", []string{"", "", "", ""}},
		{"-fault cut http ftp gopher", []string{fetch.ErrTruncated.Error(), fetch.ErrTruncated.Error(), ""}},
		{"-fault stall -times 1 tftp", []string{""}},
		{"-fail short ftp http", []string{"", fetch.ErrTruncated.Error()}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			c := fetch.New(nil, http.Load, ftp.Load, gopher.Load, tftp.Load)
			defer c.Close()
			lines := start(t, strings.Fields(tt.args)...)
			if len(lines) != len(tt.want)+1 {
				t.Fatalf("%q", lines)
			}
			for i, want := range tt.want {
				url, _, _ := strings.Cut(lines[i], " ")
				_, err := c.ReadAll(t.Context(), url, 1<<20)
				got := ""
				if err != nil {
					got = fetch.CodeOf(err).Error()
				}
				if got != want {
					t.Errorf("%s: %v, want %q", lines[i], err, want)
				}
			}
		})
	}
}

func TestCertificateIsWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	start(t, "-certificate", file, "https")
	text, err := os.ReadFile(file)
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(text) {
		t.Errorf("%q, %v", text, err)
	}
}
