package smb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/internal/codec/smb2"
)

var tree = fstest.MapFS{"dir/file.txt": {Data: []byte("content")}}

func get(t *testing.T, o *fetch.Options, url string) (string, error) {
	return drive.Get(t, drive.Client(t, o, Load), url)
}

// A grownFS states a size for its files that is smaller than they are.
type grownFS struct {
	fstest.MapFS
	size int64
}

func (g grownFS) Stat(name string) (fs.FileInfo, error) {
	info, err := g.MapFS.Stat(name)
	return grownInfo{info, g.size}, err
}

type grownInfo struct {
	fs.FileInfo
	size int64
}

func (i grownInfo) Size() int64 { return i.size }

func TestAFileThatIsLongerThanItsSizeHasChanged(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 300_000)
	for _, size := range []int64{0, 1, 1000, 1 << 20, int64(len(content)) - 1, int64(len(content))} {
		s := smbd.Start(t, smbd.Options{Tree: grownFS{fstest.MapFS{"grown": {Data: []byte(content)}}, size}, Guests: true})
		c := drive.Client(t, nil, Load)
		want := fetch.ErrChanged
		if size == int64(len(content)) {
			want = ""
		}
		for _, part := range []fetch.Range{{}, {Offset: size / 2}, {Length: size / 2}} {
			n, want := size-part.Offset, want
			if part.Length > 0 { // a part that ends earlier does not show it
				n, want = part.Length, ""
			}
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("smb://guest@" + s.Addr + "/share/grown"), Range: part})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if fetch.CodeOf(err) != want || int64(len(got)) != n {
				t.Errorf("%+v of %d bytes: %d bytes, %v, want class %q", part, size, len(got), err, want)
			}
		}
	}
}

// A touchedFS has files that are modified once their attributes have been read, if touched is set.
type touchedFS struct {
	fstest.MapFS
	touched bool
	stats   atomic.Int32
}

func (r *touchedFS) Stat(name string) (fs.FileInfo, error) {
	info, err := r.MapFS.Stat(name)
	if r.touched && r.stats.Add(1) > 1 && err == nil {
		info = touchedInfo{info}
	}
	return info, err
}

type touchedInfo struct{ fs.FileInfo }

func (i touchedInfo) ModTime() time.Time { return i.FileInfo.ModTime().Add(time.Second) }

// TestAFileThatIsModifiedWhileItIsReadHasChanged checks the time in the response to CLOSE ([MS-SMB2], section
// 2.2.16), because what was read may be a mixture of two versions. Servers may not send it.
func TestAFileThatIsModifiedWhileItIsReadHasChanged(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 300_000)
	for touched, want := range map[bool]fetch.Code{false: "", true: fetch.ErrChanged} {
		for _, part := range []fetch.Range{{}, {Offset: 10}, {Length: 10}} {
			for _, unknown := range []bool{false, true} {
				forge := func(c smb2.Command, msg []byte) {
					if at := smb2.HeaderSize + 24; unknown && c == smb2.Close {
						clear(msg[at : at+8])
					}
				}
				tree := &touchedFS{MapFS: fstest.MapFS{"f": {Data: []byte(content), ModTime: time.Unix(1000, 0)}}, touched: touched}
				s := smbd.Start(t, smbd.Options{Tree: tree, Guests: true, Forge: forge})
				_, err := drive.Read(drive.Client(t, nil, Load).Do(t.Context(), &fetch.Request{URL: uri.MustParse("smb://guest@" + s.Addr + "/share/f"), Range: part}))
				if code := fetch.CodeOf(err); !unknown && code != want || unknown && code != "" {
					t.Errorf("modified %v, %+v, time unknown %v: %v, want class %q", touched, part, unknown, err, want)
				}
			}
		}
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": password}})
	guests := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": password}, Guests: true})
	login := "smb://joe:" + uri.Escape(password) + "@"
	for _, tt := range []struct {
		url   string
		code  fetch.Code
		tries uint64
	}{
		{login + s.Addr, "", 1},
		{"smb://dom;joe:" + uri.Escape(password) + "@" + s.Addr, "", 1},
		{"smb://joe:wrong@" + s.Addr, fetch.ErrAuth, 1},
		{"smb://jim:wrong@" + s.Addr, fetch.ErrAuth, 1},
		{"smb://guest@" + s.Addr, fetch.ErrAuth, 1},
		{"smb://" + s.Addr, fetch.ErrAuth, 0},
		{login + guests.Addr, "", 1},
		{"smb://jim:wrong@" + guests.Addr, fetch.ErrAuth, 1}, // an unrequested guest session
		{"smb://guest@" + guests.Addr, "", 1},
		{"smb://" + guests.Addr, fetch.ErrAuth, 0},
	} {
		before := s.Logins() + guests.Logins()
		got, err := get(t, nil, tt.url+"/share/dir/file.txt")
		if fetch.CodeOf(err) != tt.code || err == nil && got != "content" {
			t.Errorf("%s: %q, %v", tt.url, got, err)
		}
		if tries := s.Logins() + guests.Logins() - before; tries != tt.tries {
			t.Errorf("%s: %d logins", tt.url, tries)
		}
		if err != nil && strings.Contains(err.Error(), "wrong@") {
			t.Errorf("the password is in %v", err)
		}
	}
	tries := s.Logins()
	always := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: `dom\joe`, Password: fmt.Sprint("wrong", ch.Attempt)}, nil
	})
	if _, err := get(t, &fetch.Options{Credentials: always}, "smb://"+s.Addr+"/share/dir/file.txt"); !errors.Is(err, fetch.ErrAuth) || s.Logins()-tries != maxLogins {
		t.Errorf("after %d: %v", s.Logins()-tries, err)
	}
}

// TestReasonsOfRefusedLogins checks that errors have the status of the server, and that no other password
// is tried for an account that cannot be used.
func TestReasonsOfRefusedLogins(t *testing.T) {
	t.Parallel()
	for status, tries := range map[smb2.Status]uint64{
		smb2.StatusLogonFailure: maxLogins, smb2.StatusWrongPassword: maxLogins, smb2.StatusAccountLockedOut: 1,
		smb2.StatusPasswordExpired: 1, smb2.StatusPasswordMustChange: 1, smb2.StatusAccountDisabled: 1, smb2.StatusAccountExpired: 1,
	} {
		s := smbd.Start(t, smbd.Options{Tree: tree, Refusal: status})
		always := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
			return fetch.Credential{User: "joe", Password: fmt.Sprint("wrong", ch.Attempt)}, nil
		})
		_, err := get(t, &fetch.Options{Credentials: always}, "smb://"+s.Addr+"/share/dir/file.txt")
		if !errors.Is(err, fetch.ErrAuth) || !strings.Contains(err.Error(), status.String()) || s.Logins() != tries {
			t.Errorf("%v: %v after %d logins, want %d", status, err, s.Logins(), tries)
		}
	}
}

// TestLoginsAreNotRecorded checks that recordings, which archives keep, do not have the response to the challenge
// of NTLM ([MS-NLMP], section 2.2.1.3). With the challenge it shows whether a guess is the password.
func TestLoginsAreNotRecorded(t *testing.T) {
	t.Parallel()
	const challenge, authenticate = "NTLMSSP\x00\x02", "NTLMSSP\x00\x03"
	for _, login := range []string{"joe:x", "joe:wrong"} {
		s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}})
		var rec fetchtest.Recording
		get(t, &fetch.Options{Recorder: &rec}, "smb://"+login+"@"+s.Addr+"/share/dir/file.txt")
		sent, received := "", ""
		for _, x := range rec.Exchanges() {
			for _, c := range x.Conns {
				sent, received = sent+string(c.Sent), received+string(c.Received)
			}
		}
		if !strings.Contains(received, challenge) || strings.Contains(sent, authenticate) || !strings.Contains(sent, "********") {
			t.Errorf("%s: sent %q, received %q", login, sent, received)
		}
	}
}

// TestForgedResponsesAreRejected modifies responses in transit.
func TestForgedResponsesAreRejected(t *testing.T) {
	t.Parallel()
	for _, c := range []smb2.Command{smb2.Negotiate, smb2.TreeConnect, smb2.Create, smb2.Read, smb2.Close} {
		for name, forge := range map[string]func([]byte){
			"nothing":      func([]byte) {},
			"a bit":        func(msg []byte) { msg[len(msg)-1] ^= 1 },
			"no signature": func(msg []byte) { msg[16] &^= smb2.FlagSigned },
		} {
			code := fetch.ErrProtocol
			if name == "nothing" {
				code = ""
			}
			if c == smb2.Negotiate && name == "no signature" {
				continue // it is not signed
			}
			s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}, Forge: func(which smb2.Command, msg []byte) {
				if which == c {
					forge(msg)
				}
			}})
			if got, err := get(t, nil, "smb://joe:x@"+s.Addr+"/share/dir/file.txt"); fetch.CodeOf(err) != code || err == nil && got != "content" {
				t.Errorf("%s of %v: got %q, error %v, want one of class %q", name, c, got, err, code)
			}
		}
	}
}

// TestEncryption uses a server that closes the connection on an unencrypted request.
func TestEncryption(t *testing.T) {
	t.Parallel()
	const gcm = smb2.CipherAES128GCM
	for name, tt := range map[string]struct {
		server smbd.Options
		login  string
		code   fetch.Code
	}{
		"AES-128-CCM in 3.0":        {smbd.Options{Dialect: smb2.Dialect300, Cipher: smb2.CipherAES128CCM, EncryptSession: true}, "joe:x", ""},
		"AES-128-CCM in 3.0.2":      {smbd.Options{Dialect: smb2.Dialect302, Cipher: smb2.CipherAES128CCM, EncryptShare: true}, "joe:x", ""},
		"AES-128-CCM":               {smbd.Options{Cipher: smb2.CipherAES128CCM, EncryptSession: true}, "joe:x", ""},
		"AES-128-GCM":               {smbd.Options{Cipher: gcm, EncryptSession: true}, "joe:x", ""},
		"AES-256-CCM":               {smbd.Options{Cipher: smb2.CipherAES256CCM, EncryptShare: true}, "joe:x", ""},
		"AES-256-GCM":               {smbd.Options{Cipher: smb2.CipherAES256GCM, EncryptShare: true}, "joe:x", ""},
		"optional":                  {smbd.Options{Cipher: gcm}, "joe:x", ""},
		"required without a cipher": {smbd.Options{EncryptSession: true}, "joe:x", fetch.ErrRefused},
		"required in 2.1":           {smbd.Options{Dialect: smb2.Dialect210, EncryptShare: true}, "joe:x", fetch.ErrRefused},
		"required of guests":        {smbd.Options{Cipher: gcm, EncryptShare: true, Guests: true}, "guest", fetch.ErrRefused},
		"unknown cipher":            {smbd.Options{Cipher: 9, EncryptSession: true}, "joe:x", fetch.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree, tt.server.Users = tree, map[string]string{"joe": "x"}
			s := smbd.Start(t, tt.server)
			got, err := get(t, nil, "smb://"+tt.login+"@"+s.Addr+"/share/dir/file.txt")
			if fetch.CodeOf(err) != tt.code || err == nil && got != "content" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestForgedEncryptedResponsesAreRejected(t *testing.T) {
	t.Parallel()
	for _, c := range []smb2.Command{smb2.TreeConnect, smb2.Create, smb2.Read, smb2.Close} {
		for _, at := range []int{4, 20, 36, 42, 44, smb2.TransformSize, -1} {
			s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}, Cipher: smb2.CipherAES128GCM, EncryptSession: true,
				Forge: func(which smb2.Command, msg []byte) {
					if which == c {
						msg[(at+len(msg))%len(msg)] ^= 1
					}
				}})
			if got, err := get(t, nil, "smb://joe:x@"+s.Addr+"/share/dir/file.txt"); !errors.Is(err, fetch.ErrProtocol) {
				t.Errorf("byte %d of %v: got %q, %v", at, c, got, err)
			}
		}
	}
}

// TestEncryptedSessionRejectsPlainResponses checks responses in an encrypted session.
func TestEncryptedSessionRejectsPlainResponses(t *testing.T) {
	t.Parallel()
	key := make([]byte, 16)
	s := &session{protection: protection{signer: smb2.NewSigner(smb2.Dialect311, smb2.SignGMAC, key, new(smb2.Hash)), encryptAll: true}}
	signed := smb2.Append(nil, smb2.Header{Command: smb2.Read}, &smb2.ReadResponse{}, nil)
	s.signer.Sign(signed)
	h, err := smb2.ParseHeader(signed)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.verify(message{Header: h, b: signed}); !errors.Is(err, fetch.ErrProtocol) {
		t.Errorf("a signed response: %v", err)
	}
	if err := s.verify(message{Header: h, b: signed, encrypted: true}); err != nil {
		t.Errorf("an encrypted response: %v", err)
	}
	s.encryptAll = false
	if err := s.verify(message{Header: h, b: signed}); err != nil {
		t.Errorf("a signed response without encryption: %v", err)
	}
}

// TestEndedSessionsAreReopened has a server that ends sessions without closing the connection.
func TestEndedSessionsAreReopened(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		user     string
		status   smb2.Status
		unsigned bool
	}{
		"expired":               {"guest", smb2.StatusNetworkSessionExpired, false},
		"deleted":               {"guest", smb2.StatusUserSessionDeleted, false},
		"the share is gone":     {"guest", smb2.StatusNetworkNameDeleted, false},
		"deleted, and unsigned": {"joe", smb2.StatusUserSessionDeleted, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var creates atomic.Int64 // files opened since the last login
			s := smbd.Start(t, smbd.Options{Guests: true, Users: map[string]string{"joe": "secret"},
				Tree: fstest.MapFS{"a": {Data: []byte("content")}}, Forge: func(c smb2.Command, msg []byte) {
					if c == smb2.SessionSetup {
						creates.Store(0)
					}
					if c == smb2.Create && creates.Add(1) > 1 {
						binary.LittleEndian.PutUint32(msg[8:], uint32(tt.status))
						if tt.unsigned {
							msg[16] &^= smb2.FlagSigned
						}
					}
				}})
			c := drive.Client(t, &fetch.Options{Credentials: drive.Credentials(fetch.Credential{Password: "secret"})}, Load)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for range 2 {
				text, err := c.ReadAll(ctx, "smb://"+tt.user+"@"+s.Addr+"/share/a", 0)
				if string(text) != "content" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
			}
			if n := s.Logins(); n != 2 {
				t.Errorf("%d logins", n)
			}
		})
	}
}

func TestMalformedMessagesAreRejected(t *testing.T) {
	t.Parallel()
	var interim int
	for name, forge := range map[string]func([]byte){
		"other message ID": func(msg []byte) { msg[24] ^= 1 },
		"request":          func(msg []byte) { msg[16] &^= smb2.FlagServerToRedir },
		"compound":         func(msg []byte) { msg[20] = 8 },
		"protocol ID":      func(msg []byte) { msg[0] = 0xff },
		"structure size":   func(msg []byte) { msg[smb2.HeaderSize] ^= 2 },
		"pending":          func(msg []byte) { interim++; binary.LittleEndian.PutUint32(msg[8:], uint32(smb2.StatusPending)) },
		"dialect":          func(msg []byte) { msg[smb2.HeaderSize+4] = 0x77 },
		"tiny reads":       func(msg []byte) { binary.LittleEndian.PutUint32(msg[smb2.HeaderSize+32:], 1) },
		"context offset":   func(msg []byte) { binary.LittleEndian.PutUint32(msg[smb2.HeaderSize+60:], 1<<31) },
	} {
		s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}, Forge: func(which smb2.Command, msg []byte) {
			if which == smb2.Negotiate {
				forge(msg)
			}
		}})
		if _, err := get(t, nil, "smb://joe:x@"+s.Addr+"/share/dir/file.txt"); !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}, Shares: map[string]string{"a b": "blank", "é": ""}})
	c := drive.Client(t, nil, Load)
	var got []string
	for _, e := range drive.MustList(t, c, "smb://joe:x@"+s.Addr) {
		got = append(got, e.Name+" "+e.Sys.(Sys).Remark+" "+strings.TrimPrefix(e.URL.String(), "smb://joe:x@"+s.Addr))
	}
	if want := "share  /share/|a b blank /a%20b/|é  /%C3%A9/"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	if _, err := get(t, nil, "smb://joe:x@"+s.Addr+"/none/file"); !errors.Is(err, fetch.ErrNotFound) {
		t.Error(err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"smb://h":             "|",
		"smb://h/s":           "s|",
		"smb://h/s/":          "s|",
		"smb://h//s//a/b%20c": `s|a\b c`,
		"smb://h/s/a%3Fb;c":   "s|a?b;c",
		"smb://h/s/%ED%A0%80": "s|\xed\xa0\x80",
	} {
		tg, err := newTarget(&fetch.Request{URL: uri.MustParse(url)})
		if err != nil || tg.share+"|"+tg.path != want {
			t.Errorf("%s: %q, %v", url, tg.share+"|"+tg.path, err)
		}
	}
	for _, url := range []string{"smb:///s", "smb://h/s/a%2Fb", "smb://h/s/a%5Cb", "smb://h/s/%00", "smb://h/s/%FF", "smb://h/s/%2E%2E/x",
		"smb://h/s/" + strings.Repeat("x", maxPath+1)} {
		if _, err := newTarget(&fetch.Request{URL: uri.MustParse(url)}); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%.40s: %v", url, err)
		}
	}
}

func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	s := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}})
	c := drive.Client(t, nil, Load)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			resp, err := c.Get(t.Context(), "smb://joe:x@"+s.Addr+"/share/dir/file.txt")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); string(b) != "content" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	wg.Wait()
	if n := s.Logins(); n > 4 {
		t.Errorf("%d connections", n)
	}
}
