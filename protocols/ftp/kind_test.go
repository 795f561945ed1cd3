package ftp

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// TestTheOtherKind requests directories as files, and files as directories.
func TestTheOtherKind(t *testing.T) {
	t.Parallel()
	vague := map[string]string{"RETR": "550 Failed to open file.\r\n"} // the reply of vsftpd
	denied := map[string]string{                                       // that of IIS, also for junctions
		"RETR": "550-Access is denied. \r\n Win32 error:   Access is denied. \r\n Error details: File system denied the access.\r\n550 End\r\n"}
	busy := map[string]string{"RETR": "450 pub: busy\r\n"}
	local := map[string]string{"RETR": "451 Error while reading: is a directory\r\n"}
	syntax := map[string]string{"RETR": "501 Not a regular file\r\n"}
	name := map[string]string{"RETR": "553 File name not allowed\r\n"}
	for _, tt := range []struct {
		name, path string
		op         fetch.Op
		server     ftpd.Options
		code       fetch.Code
		want       string // in the error, after "ftp://HOST"
		not        bool   // the error must not contain want
	}{
		{name: "get of a directory", path: "/pub/sub", code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of one, vaguely refused", path: "/pub", server: ftpd.Options{Replies: vague}, code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/"},
		{name: "get of one, denied", path: "/pub/sub", server: ftpd.Options{Replies: denied}, code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of one that is busy", path: "/pub/sub", server: ftpd.Options{Replies: busy}, code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of one, a local error", path: "/pub/sub", server: ftpd.Options{Replies: local}, code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of one, a syntax error", path: "/pub/sub", server: ftpd.Options{Replies: syntax}, code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of one, a name that is not allowed", path: "/pub/sub", server: ftpd.Options{Replies: name}, code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of a file that is busy", path: "/motd", server: ftpd.Options{Replies: busy}, code: fetch.ErrBusy, want: "directory", not: true},
		{name: "get of a file, a local error", path: "/motd", server: ftpd.Options{Replies: local}, code: fetch.ErrServer, want: "it is", not: true},
		{name: "get of a file, a syntax error", path: "/motd", server: ftpd.Options{Replies: syntax}, code: fetch.ErrRefused, want: "directory", not: true},
		{name: "get of a file that is denied", path: "/motd", server: ftpd.Options{Replies: denied}, code: fetch.ErrRefused, want: "directory", not: true},
		{name: "get of one as text", path: "/pub/sub;type=a", code: fetch.ErrRefused, want: "it is a directory: ftp://$/pub/sub/"},
		{name: "get of a file that is refused", path: "/motd", server: ftpd.Options{Replies: vague}, code: fetch.ErrRefused, want: "directory", not: true},
		{name: "get of nothing", path: "/pub/none", code: fetch.ErrNotFound, want: "it is", not: true},
		{name: "get below nothing", path: "/none/none", code: fetch.ErrNotFound, want: "it is", not: true},
		{name: "list of a file", path: "/pub/a.txt", op: fetch.OpList, code: fetch.ErrRefused, want: "it is a file: ftp://$/pub/a.txt"},
		{name: "list of one with an asterisk", path: "/pub/c%2A.bin", op: fetch.OpList, code: fetch.ErrRefused, want: "it is a file: ftp://$/pub/c%2A.bin"},
		{name: "list of a file with a slash", path: "/motd/", op: fetch.OpList, code: fetch.ErrRefused, want: "it is a file: ftp://$/motd"},
		{name: "get of a file with a slash", path: "/motd/", code: fetch.ErrRefused, want: "it is a file: ftp://$/motd"},
		{name: "list of nothing", path: "/pub/none", op: fetch.OpList, code: fetch.ErrNotFound, want: "it is", not: true},
		{name: "list below nothing", path: "/none/none", op: fetch.OpList, code: fetch.ErrNotFound, want: "it is", not: true},
		{name: "list below a file", path: "/motd/none", op: fetch.OpList, code: fetch.ErrNotFound, want: "it is", not: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree = small
			s := ftpd.Start(t, tt.server)
			c := drive.Client(t, nil, Load)
			_, _, err := drive.Do(t, c, request(tt.op, "ftp://me:secret@"+s.Addr+tt.path))
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Reply.IsZero() {
				t.Fatalf("%v, want one of class %q with the server's reply", err, tt.code)
			}
			want := strings.ReplaceAll(tt.want, "ftp://$", "ftp://me:xxxxx@"+s.Addr)
			if said := strings.Contains(e.Message(), want); said == tt.not {
				t.Errorf("%q, want %q in it: %t", e.Message(), want, !tt.not)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the password: %v", err)
			}
			// The check must not affect the next request.
			if body, err := drive.Get(t, c, "ftp://me:secret@"+s.Addr+"/motd;type=i"); tt.server.Replies == nil && (body != welcome || err != nil) {
				t.Errorf("then: %q, %v", body, err)
			}
			if n := s.Logins(); n != 1 && !strings.Contains(tt.name, "below") {
				t.Errorf("%d logins", n)
			}
		})
	}
}

// TestTypeAfterAFailure loses the reply to TYPE because another command in the same batch fails.
func TestTypeAfterAFailure(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, With(Options{Pipelining: PipeliningOn}))
	for _, path := range []string{"/motd", "/none/motd;type=a", "/motd"} {
		drive.Do(t, c, request(fetch.OpStat, "ftp://"+s.Addr+path))
	}
	types := slices.DeleteFunc(s.Log(), func(line string) bool { return !strings.HasPrefix(line, "TYPE") })
	if want := []string{"TYPE I", "TYPE A", "TYPE I"}; !slices.Equal(types, want) {
		t.Errorf("the server was told %q, want %q", types, want)
	}
}

// TestAnnouncedSize uses servers without SIZE that send fewer bytes than they announce.
func TestAnnouncedSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, begin string
		offset      int64
		content     string
		size        int64 // of the response
		err         fetch.Code
	}{
		{"all of it", "150 Opening BINARY mode data connection for motd (9 bytes).", 0, welcome, 9, ""},
		{"less", "150 Opening BINARY mode data connection for motd (9 bytes).", 0, "Welc", 9, fetch.ErrTruncated},
		{"nothing", "150 Opening BINARY mode data connection for motd (9 bytes).", 0, "", 9, fetch.ErrTruncated},
		{"more", "150 Opening BINARY mode data connection for motd (3 bytes).", 0, welcome, 3, fetch.ErrProtocol},
		{"one", "150 Here (1 byte)", 0, "W", 1, ""},
		{"not said", "150 Here it comes", 0, "Welc", -1, ""},
		{"in another unit", "150 0.009 kbytes to download", 0, "Welc", -1, ""},
		{"said twice", "150 Opening (1 bytes) for it (9 bytes).", 0, "Welc", -1, ""},
		{"beyond all bounds", "150 Opening (99999999999999999999 bytes)", 0, "Welc", -1, ""},
		{"the rest, of which the size is said", "150 Opening for motd (6 bytes).", 3, "come.\n", -1, ""},
		{"the rest, of a file of which the size is said", "150 Opening for motd (9 bytes).", 3, "come.\n", -1, ""},
		{"less than the rest", "150 Opening for motd (9 bytes).", 3, "com", -1, fetch.ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			probe, probed, rest := "", "", ""
			if tt.offset > 0 {
				probe = "C: EPSV\nS: 229 ok ($EPSV{probe})\nC: REST 1099511627776\nS: 350 ok\nC: RETR motd\nS: 554 beyond the end\n"
				probed, rest = "-- probe --\nS!close\n", "C: REST 3\nS: 350 ok\n"
			}
			addr := transcript.Play(t, "-- control --\nS: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\nC: TYPE I\nS: 200 ok\n"+
				"C: SIZE motd\nS: 500 ?\nC: MDTM motd\nS: 500 ?\n"+probe+"C: EPSV\nS: 229 ok ($EPSV{data})\n"+rest+
				"C: RETR motd\nS: "+tt.begin+"\nS!wait data\nS: 226 Done\nC? ABOR\nC? QUIT\n-- data --\nS"+strconv.Quote(tt.content)+"\nS!close\n"+probed)
			c := drive.Client(t, nil, With(Options{Pipelining: PipeliningOff}))
			req := request(fetch.OpGet, "ftp://"+addr+"/motd")
			req.Range.Offset = tt.offset
			body, resp, err := drive.Do(t, c, req)
			if fetch.CodeOf(err) != tt.err || err == nil && body != tt.content {
				t.Errorf("%q, %v; want one of class %q", body, err, tt.err)
			}
			if resp == nil || resp.Size != tt.size {
				t.Errorf("%+v, want a size of %d", resp, tt.size)
			}
			c.Close()
		})
	}
	if n := announcedSize("150 Opening for x (5 bytes) (7 bytes).", "x (5 bytes)"); n != 7 {
		t.Errorf("a name that looks like a size: %d", n)
	}
	if n := announcedSize("150 Opening for x (5 bytes)", "x (5 bytes)"); n != 0 {
		t.Errorf("nothing but a name that looks like a size: %d", n)
	}
}

// TestSizesOfListings checks a server that announces a listing with the size of the directory.
func TestSizesOfListings(t *testing.T) {
	t.Parallel()
	addr := transcript.Play(t, "-- control --\nS: 220 Ready\nC: USER anonymous\nS: 331 ?\nC: PASS urlget@\nS: 230 in\n"+
		"C: FEAT\nS: 500 ?\nC: EPSV\nS: 229 ok ($EPSV{data})\nC: LIST\nS: 150 Opening for / (4096 bytes)\nS!wait data\nS: 226 Done\nC? QUIT\n"+
		"-- data --\nS: total 0\nS!close\n")
	c := drive.Client(t, nil, With(Options{Pipelining: PipeliningOff}))
	if body, resp, err := drive.Do(t, c, request(fetch.OpGet, "ftp://"+addr+"/")); err != nil || resp.Size != -1 || body != "total 0\r\n" {
		t.Errorf("%q, %+v, %v", body, resp, err)
	}
	c.Close()
}

func FuzzAnnouncedSize(f *testing.F) {
	for _, text := range []string{"150 Opening BINARY mode data connection for motd (9 bytes).", "(1 byte)", "(99999999999999999999 bytes)", "( bytes)"} {
		f.Add(text, "motd")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		n := announcedSize(text, name)
		if n < 0 || n > 0 && !strings.Contains(text, strconv.FormatInt(n, 10)) {
			t.Errorf("%q, of %q: %d", text, name, n)
		}
	})
}
