package servers_test

import (
	"testing"
	"testing/fstest"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// A READ in the middle of a large file reads only that part of the tree.
func TestSFTPReadsOnlyTheRequestedPart(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	data := make([]byte, size)
	copy(data[size-10:], "0123456789")
	tree := &countingFS{FS: fstest.MapFS{"large": {Data: data}}}
	s := sftpd.Start(t, sftpd.Options{Tree: tree})
	client, err := ssh.Dial("tcp", s.Addr, &ssh.ClientConfig{User: "me", Auth: []ssh.AuthMethod{ssh.Password("x")}, HostKeyCallback: ssh.FixedHostKey(s.HostKey)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ch, reqs, err := client.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(reqs)
	if _, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"})); err != nil {
		t.Fatal(err)
	}
	ask := func(typ filexfer.Type, id uint32, fields ...any) filexfer.Message {
		var m filexfer.Message
		_, err := ch.Write(filexfer.Append(nil, typ, id, fields...))
		if err == nil {
			m, err = filexfer.Read(ch, func(n int) []byte { return make([]byte, n) })
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	ask(filexfer.TypeInit, filexfer.Version)
	handle := ask(filexfer.TypeOpen, 1, "large", uint32(1), filexfer.Attrs{}).Fields().Text()
	if m := ask(filexfer.TypeRead, 2, handle, uint64(size-10), uint32(100)); m.Type != filexfer.TypeData || m.Fields().Text() != "0123456789" {
		t.Errorf("READ: %v", m.Type)
	}
	if m := ask(filexfer.TypeRead, 3, handle, uint64(size), uint32(100)); m.Type != filexfer.TypeStatus {
		t.Errorf("READ at the end: %v", m.Type)
	}
	if n := tree.read.Load(); n != 10 {
		t.Errorf("%d bytes of the file were read, want 10", n)
	}
	ask(filexfer.TypeClose, 4, handle)
	if n := tree.open.Load(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}
