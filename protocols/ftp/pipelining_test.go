package ftp

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// TestServersThatLoseCommands makes all kinds of requests to servers that read one command per
// segment and drop the rest. Only the first request may take longer, by the wait for a lost reply.
func TestServersThatLoseCommands(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup // at once, because they mostly wait
	defer all.Wait()
	for _, tt := range []struct {
		name, path string
		op         fetch.Op
		part       fetch.Range
		want       string // "" if there is no content
		server     ftpd.Options
	}{
		{name: "get", path: "/etc/motd", want: "Welcome to etc.\n"},
		{name: "get from one that calls itself able", path: "/etc/motd", want: "Welcome to etc.\n",
			server: ftpd.Options{Replies: map[string]string{"": "220 (vsFTPd 3.0.3)\r\n"}}},
		{name: "resume", path: "/pub/a.txt", part: fetch.Range{Offset: 5}, want: "two\r\n"},
		{name: "stat", path: "/etc/motd", op: fetch.OpStat},
		{name: "list", path: "/etc/", op: fetch.OpList, want: "type=cdir; .\r\ntype=pdir; ..\r\ntype=file;size=16;modify=19991231235958; motd\r\n"},
		{name: "glob", path: "/pub/*.txt", want: "ftp://$/pub/a.txt\r\nftp://$/pub/b.txt\r\n"},
	} {
		run(t, &all, tt.name, func(t *testing.T) {
			tt.server.Tree, tt.server.OneByOne = small, true
			s := ftpd.Start(t, tt.server)
			c := drive.Client(t, nil, Load)
			req := request(tt.op, "ftp://"+s.Addr+tt.path)
			req.Range = tt.part
			begun := time.Now()
			for range 2 {
				body, _, err := drive.Do(t, c, req)
				if want := strings.ReplaceAll(tt.want, "$", s.Addr); err != nil || body != want {
					t.Fatalf("%q, %v; want %q", body, err, want)
				}
			}
			if took := time.Since(begun); took > 30*time.Second { // half the reply timeout
				t.Errorf("it took %v to find out", took)
			}
			c.Close() // the next request takes a new connection
			if _, _, err := drive.Do(t, c, req); err != nil {
				t.Error(err)
			}
			if n := s.Logins(); n != 3 {
				t.Errorf("%d logins, want one with commands sent together, and two without", n)
			}
		})
	}
}

// TestManyMeetAServerThatLosesCommands starts several requests at once. Each one detects the loss.
func TestManyMeetAServerThatLosesCommands(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small, OneByOne: true})
	c := drive.Client(t, nil, Load)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			drive.Gets(t, c, "ftp://"+s.Addr+"/etc/motd", "Welcome to etc.\n")
		})
	}
	wg.Wait()
}

// TestWhatTravelsTogether checks which commands are sent together. The servers reply only after all
// commands of a batch have arrived. Each line of the commands is one batch.
func TestWhatTravelsTogether(t *testing.T) {
	t.Parallel()
	replies := map[string]string{"PWD": `257 "/"`, "CWD": "250 ok", "TYPE": "200 ok", "SIZE": "213 9", "MDTM": "213 19991231235958"}
	lockStep := []string{"PWD", "CWD pub", "TYPE I", "SIZE motd", "MDTM motd"}
	for _, tt := range []struct {
		name, greeting string
		mode           Pipelining
		lots           []string
	}{
		{"a server that nobody knows", "Ready", PipeliningAuto, []string{"PWD, CWD pub", "TYPE I, SIZE motd, MDTM motd"}},
		{"vsftpd", "(vsFTPd 3.0.3)", PipeliningAuto, []string{"PWD, CWD pub, TYPE I, SIZE motd, MDTM motd"}},
		{"ProFTPD", "ProFTPD 1.3.7 Server (Debian)", PipeliningAuto, []string{"PWD, CWD pub, TYPE I, SIZE motd, MDTM motd"}},
		{"asked for", "Ready", PipeliningOn, []string{"PWD, CWD pub, TYPE I, SIZE motd, MDTM motd"}},
		{"not wanted", "(vsFTPd 3.0.3)", PipeliningOff, lockStep},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var script strings.Builder
			script.WriteString("-- control --\nS: 220 " + tt.greeting + "\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\n")
			for _, lot := range tt.lots {
				commands := strings.Split(lot, ", ")
				script.WriteString("C: " + strings.Join(commands, "\nC: ") + "\n")
				for _, command := range commands {
					verb, _, _ := strings.Cut(command, " ")
					script.WriteString("S: " + replies[verb] + "\n")
				}
			}
			script.WriteString("C? QUIT\n")
			addr := transcript.Play(t, script.String())
			c := drive.Client(t, nil, With(Options{Pipelining: tt.mode}))
			if _, _, err := drive.Do(t, c, request(fetch.OpStat, "ftp://"+addr+"/pub/motd")); err != nil {
				t.Error(err)
			}
			c.Close()
		})
	}
}

// TestHangingUpOnCommands checks a server that closes the connection after pipelined commands.
func TestHangingUpOnCommands(t *testing.T) {
	t.Parallel()
	const login = "S: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\n"
	for name, end := range map[string]string{
		"at once":               "S!reset\n",
		"after the first reply": "S: 257 \"/\"\nS!close\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := transcript.Play(t, "-- first --\n"+login+"C: PWD\nC: CWD pub\n"+end+
				"-- second --\n"+login+"C: PWD\nS: 257 \"/\"\nC: CWD pub\nS: 250 ok\nC? QUIT\n")
			c := drive.Client(t, nil, Load)
			if _, _, err := drive.Do(t, c, request(fetch.OpStat, "ftp://"+addr+"/pub/")); err != nil {
				t.Error(err)
			}
			c.Close()
		})
	}
}

// TestServersThatCannotPipeline has servers that take a segment for one command, lose replies, or
// reply in another order. The file arrives over a second connection without pipelining, without a
// wait for lost replies, and later connections do not pipeline either.
func TestServersThatCannotPipeline(t *testing.T) {
	t.Parallel()
	const (
		login = "S: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\n"
		cwd   = "C: PWD\nS: 257 \"/\"\nC: CWD pub\nS: 250 ok\n"
		facts = "C: TYPE I\nS: 200 ok\nC: SIZE a\nS: 213 9\nC: MDTM a\nS: 213 19991231235958\n"
	)
	able := "C: PWD\nC: CWD pub\nS: 257 \"/\"\nS: 250 ok\nC: TYPE I\nC: SIZE a\nC: MDTM a\n"
	for name, tt := range map[string]struct {
		path, first string
		dir         string
	}{
		"500 to the first command":               {"/a", "C: TYPE I\nC: SIZE a\nS: 500 ?\n", ""},
		"501 to the first command":               {"/pub/a", "C: PWD\nC: CWD pub\nS: 501 PWD takes no argument\n", cwd},
		"502 to the first command":               {"/pub/a", "C: PWD\nC: CWD pub\nS: 502 ?\n", cwd},
		"550 to the first command, then silence": {"/pub/a", "C: PWD\nC: CWD pub\nS: 550 ?\n", cwd},
		"a refusal of SIZE before that of TYPE":  {"/a", "C: TYPE I\nC: SIZE a\nS: 502 'size' not implemented\nS: 200 ok\n", ""},
		"after a batch that was in order":        {"/pub/a", able + "S: 502 'size' not implemented\nS: 200 ok\nS: 502 'mdtm' not implemented\n", cwd},
		"the refusal of another command":         {"/pub/a", able + "S: 200 ok\nS: 502 'mdtm' not implemented\nS: 213 9\n", cwd},
		"the reply to SIZE before that to TYPE":  {"/pub/a", able + "S: 213 9\nS: 200 ok\nS: 213 19991231235958\n", cwd},
		"the reply to TYPE after that to SIZE":   {"/pub/a", able + "S: 200 ok\nS: 200 ok\nS: 213 19991231235958\n", cwd},
		"the working directory as reply to CWD":  {"/pub/a", "C: PWD\nC: CWD pub\nS: 250 ok\nS: 257 \"/\"\n", cwd},
		"the working directory as reply to TYPE": {"/pub/a", able + "S: 257 \"/\"\nS: 213 9\nS: 213 19991231235958\n", cwd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest := login + tt.dir + facts + "C? QUIT\n"
			addr := transcript.Play(t, "-- first --\n"+login+tt.first+"C? QUIT\n-- second --\n"+rest+"-- third --\n"+rest)
			c := drive.Client(t, nil, Load)
			for range 2 {
				if m, err := c.Stat(t.Context(), request(fetch.OpStat, "ftp://"+addr+tt.path)); err != nil || m.Size != 9 {
					t.Errorf("%+v, %v", m, err)
				}
				c.Close() // the next request takes a new connection
			}
		})
	}
}

// TestOldServersMayPipeline checks that a server without FEAT is not taken for one that cannot
// pipeline.
func TestOldServersMayPipeline(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small, Unknown: []string{"FEAT", "MLSD", "SIZE", "MDTM", "EPSV"}})
	c := drive.Client(t, nil, Load)
	for _, path := range []string{"/pub/", "/pub/b.txt"} {
		if _, err := drive.Get(t, c, "ftp://"+s.Addr+path); err != nil {
			t.Error(err)
		}
	}
	if n := s.Logins(); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

func TestAhead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode                Pipelining
		known, able, unable bool
		most                int
		trial               bool
	}{
		{mode: PipeliningAuto, most: 2, trial: true},
		{mode: PipeliningAuto, known: true, most: maxPipelined, trial: true},
		{mode: PipeliningAuto, able: true, most: maxPipelined},
		{mode: PipeliningAuto, unable: true, most: 1},
		{mode: PipeliningAuto, known: true, able: true, unable: true, most: 1},
		{mode: PipeliningOn, unable: true, most: maxPipelined},
		{mode: PipeliningOff, known: true, able: true, most: 1},
	} {
		p := newPipelining(tt.mode)
		if tt.able {
			p.able.Add("h:21")
		}
		if tt.unable {
			p.unable.Add("h:21")
		}
		if most, trial := p.depth("h:21", tt.known); most != tt.most || trial != tt.trial {
			t.Errorf("%+v: %d, %t", tt, most, trial)
		}
	}
}

func TestReaders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"(vsFTPd 3.0.5)": true, "---------- Welcome to Pure-FTPd [privsep] [TLS] ----------\nYou are user 1": true,
		"pyftpdlib 1.5.9 ready.": true, "FileZilla Server 1.8.0": true, "ProFTPD Server ready": true,
		"Microsoft FTP Service": false, "": false, "Features:\n UTF8": false,
	} {
		if got := canPipeline(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestAStrayReply checks servers that send extra replies at the end of a transfer. The client must not
// use them as replies to the next command.
func TestAStrayReply(t *testing.T) {
	t.Parallel()
	for _, stray := range []string{"226 Done, as I said.\r\n", "226-Done,\r\n226 as I said.\r\n", "220 Ready.\r\n", "\r\n", "2"} {
		s := ftpd.Start(t, ftpd.Options{Tree: small, Stray: stray})
		c := drive.Client(t, nil, Load)
		for range 3 {
			for path, want := range map[string]string{"/motd": welcome, "/etc/motd": "Welcome to etc.\n", "/pub/b.txt": "bee\n"} {
				if body, err := drive.Get(t, c, "ftp://"+s.Addr+path); body != want || err != nil {
					t.Errorf("behind %q: %q, %v; want %q", stray, body, err, want)
				}
			}
		}
	}
}

// TestALateStrayReply sends an extra reply after the next command.
func TestALateStrayReply(t *testing.T) {
	t.Parallel()
	const begin = "S: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\nC: TYPE I\nS: 200 ok\n"
	addr := transcript.Play(t, "-- first --\n"+begin+"C: SIZE a\nS: 213 9\nC: MDTM a\nS: 500 ?\n"+
		"C: SIZE b\nS: 226 Done\nC? MDTM b\nC? QUIT\n"+
		"-- second --\n"+begin+"C: SIZE b\nS: 213 9\nC: MDTM b\nS: 500 ?\nC? QUIT\n")
	c := drive.Client(t, nil, With(Options{Pipelining: PipeliningOff}))
	for _, name := range []string{"/a", "/b"} {
		if m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("ftp://" + addr + name)}); err != nil || m.Size != 9 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	c.Close()
}

// TestScope checks that foreign requests use neither connections with the user's login nor the
// login.
func TestScope(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	var asked []fetch.Challenge
	c := drive.Client(t, &fetch.Options{Credentials: provider(func(ch fetch.Challenge) (fetch.Credential, error) {
		asked = append(asked, ch)
		if !ch.From.IsZero() {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: "joe", Password: "secret"}, nil
	})}, With(Options{}))
	for _, from := range []string{"", "http://127.0.0.1/page.html", "", "http://127.0.0.1/page.html"} {
		req := request(fetch.OpGet, "ftp://"+s.Addr+"/motd")
		if from != "" {
			req.From = uri.MustParse(from)
		}
		if _, _, err := drive.Do(t, c, req); err != nil {
			t.Fatal(err)
		}
	}
	users := slices.DeleteFunc(s.Log(), func(line string) bool { return !strings.HasPrefix(line, "USER") })
	if !slices.Equal(users, []string{"USER joe", "USER anonymous"}) || len(asked) != 2 {
		t.Errorf("the server heard %q after %d questions", users, len(asked))
	}
}
