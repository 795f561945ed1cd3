package ftp

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// TestRepliesToAbort has servers that reply to ABOR in each way. The session serves the next request.
func TestRepliesToAbort(t *testing.T) {
	t.Parallel()
	const begin = "S: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\nC: TYPE I\nS: 200 ok\n" +
		"C: SIZE a\nS: 213 9\nC: MDTM a\nS: 500 ?\nC: EPSV\nS: 229 ok ($EPSV{data})\nC: RETR a\nS: 150 here\nS!wait data\n"
	const next = "S: 257 \"/\"\nC: SIZE a\nS: 213 9\nC: MDTM a\nS: 500 ?\nC? QUIT\n"
	for name, replies := range map[string]string{
		"aborted":                        "C: ABOR\nS: 426 aborted\nS: 226 done\nC: PWD\n",
		"complete, nothing to abort":     "C: ABOR\nS: 226 complete\nS: 225 nothing to abort\nC: PWD\n",
		"complete before ABOR":           "S: 226 complete\nC: ABOR\nC: PWD\nS: 226 nothing to abort\n",
		"one reply":                      "C: ABOR\nS: 226 done\nC: PWD\n",
		"one reply, for the transfer":    "C: ABOR\nS: 426 lost\nC: PWD\n",
		"ABOR is not implemented":        "C: ABOR\nS: 426 lost\nS: 502 ABOR?\nC: PWD\n",
		"ABOR is executed after the PWD": "C: ABOR\nS: 426 lost\nC: PWD\nS: 226 done\n",
		"two replies for the transfer":   "C: ABOR\nS: 426 lost\nS: 226 done\nS: 225 nothing to abort\nC: PWD\n",
	} {
		for _, how := range []string{"range", "close"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				addr := transcript.Play(t, "-- control --\n"+begin+replies+next+"-- data --\nS\"Welcome.\\n\"\nC!close\n")
				c := drive.Client(t, nil, With(Options{Pipelining: PipeliningOff}))
				req := request(fetch.OpGet, "ftp://"+addr+"/a")
				if how == "range" {
					req.Range.Length = 3
				}
				resp, err := c.Do(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 3)
				if _, err := io.ReadFull(resp.Body, p); err != nil || string(p) != "Wel" {
					t.Errorf("%q, %v", p, err)
				}
				resp.Body.Close()
				if m, err := c.Stat(t.Context(), request(fetch.OpStat, "ftp://"+addr+"/a")); err != nil || m.Size != 9 {
					t.Errorf("%+v, %v", m, err)
				}
				c.Close()
			})
		}
	}
}

// An unreadConn is a control connection that must not be read.
type unreadConn struct {
	net.Conn
	t     *testing.T
	wrote string
}

func (c *unreadConn) Read([]byte) (int, error) {
	c.t.Error("Close reads the control connection")
	return 0, io.EOF
}

func (c *unreadConn) Write(p []byte) (int, error) {
	c.wrote += string(p)
	return len(p), nil
}

func (c *unreadConn) SetDeadline(time.Time) error      { return nil }
func (c *unreadConn) SetReadDeadline(time.Time) error  { return nil }
func (c *unreadConn) SetWriteDeadline(time.Time) error { return nil }

// TestCloseDoesNotWait checks that Close leaves the replies to ABOR to the next task.
func TestCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	raw := &unreadConn{t: t}
	conn := fetch.NewConn(t.Context(), raw, fetch.Timeouts{})
	s := &session{control: &control{conn: conn, lines: wire.NewLines(conn, 0)}}
	outcome := errUnusable
	b := &transferBody{ctx: t.Context(), session: s, size: 9, data: fetch.NewConn(t.Context(), &scriptedConn{err: io.EOF}, fetch.Timeouts{}),
		unbind: func() bool { return true }, done: func(err error) error { outcome = err; return nil }}
	b.Close()
	if b.Close(); outcome != nil || raw.wrote != "ABOR\r\n" || !s.unsettled.Load() {
		t.Errorf("%v, sent %q", outcome, raw.wrote)
	}
}

// TestAbortedTransfersTakeOneLogin closes bodies of a file that is too large for the buffers of the
// connection, at the beginning and in between. Close does not wait for a server that is deaf.
func TestAbortedTransfersTakeOneLogin(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789abcdef"), 2<<20)
	for _, tt := range []struct {
		name    string
		options ftpd.Options
		logins  int
	}{
		{name: "426 and 226", logins: 1},
		{name: "426 and 225", options: ftpd.Options{Replies: map[string]string{"ABOR": "225 No transfer.\r\n"}}, logins: 1},
		{name: "only 426", options: ftpd.Options{Replies: map[string]string{"ABOR": ""}}, logins: 1},
		{name: "ABOR is not implemented", options: ftpd.Options{Unknown: []string{"ABOR"}}, logins: 1},
		{name: "no PWD", options: ftpd.Options{Unknown: []string{"PWD"}}, logins: 3},
		{name: "deaf", options: ftpd.Options{Deaf: true}, logins: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.options.Tree = fstest.MapFS{"large": {Data: data, ModTime: modTime}}
			s := ftpd.Start(t, tt.options)
			opts := Options{settleWait: time.Minute} // the machine may be busy
			if tt.logins > 1 {
				opts.settleWait = 0
			}
			c := drive.Client(t, nil, With(opts))
			for _, r := range []fetch.Range{{}, {Offset: 16 << 20, Length: 1000}, {Offset: 1 << 20}} {
				req := request(fetch.OpGet, "ftp://"+s.Addr+"/large")
				req.Range = r
				resp, err := c.Do(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 1000)
				if _, err := io.ReadFull(resp.Body, p); err != nil || !bytes.Equal(p, data[r.Offset:][:1000]) {
					t.Errorf("%v: %.20q, %v", r, p, err)
				}
				resp.Body.Close()
			}
			if n := s.Logins(); n != tt.logins {
				t.Errorf("%d logins, want %d after %q", n, tt.logins, s.Log())
			}
		})
	}
}
