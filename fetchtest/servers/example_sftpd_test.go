package servers_test

import (
	"fmt"
	"io"
	"log"
	"testing/fstest"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
)

// sftpStat is the client under test. It requests the size of a file.
func sftpStat(s *sftpd.Server, user, password, name string) (uint64, error) {
	client, err := ssh.Dial("tcp", s.Addr, &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{ssh.Password(password)},
		HostKeyCallback: ssh.FixedHostKey(s.HostKey)})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	ch, reqs, err := client.OpenChannel("session", nil)
	if err != nil {
		return 0, err
	}
	go ssh.DiscardRequests(reqs)
	if _, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"})); err != nil {
		return 0, err
	}
	ch.Write(filexfer.Append(nil, filexfer.TypeInit, filexfer.Version))
	ch.Write(filexfer.Append(nil, filexfer.TypeStat, 1, name))
	var m filexfer.Message
	for range 2 {
		if m, err = filexfer.Read(ch, func(n int) []byte { return make([]byte, n) }); err != nil {
			return 0, err
		}
	}
	if m.Type != filexfer.TypeAttrs {
		return 0, io.ErrUnexpectedEOF
	}
	return m.Fields().Attrs().Size, nil
}

// A test calls Start(t, options) instead of New and Close.
func Example_sftpd() {
	s, err := sftpd.New(sftpd.Options{
		Tree:  fstest.MapFS{"pub/readme": {Data: []byte("Read me.\n")}},
		Users: map[string]string{"alice": "secret"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(sftpStat(s, "alice", "secret", "/pub/readme"))
	s.Arm(servers.Failure{Fault: servers.Cut, On: "STAT"})
	_, err = sftpStat(s, "alice", "secret", "/pub/readme")
	fmt.Println(err)
	_, err = sftpStat(s, "alice", "wrong", "/pub/readme")
	fmt.Println(err)
	fmt.Println(s.Log())
	// Output:
	// 9 <nil>
	// EOF
	// ssh: handshake failed: ssh: unable to authenticate, attempted methods [none password], no supported methods remain
	// [STAT /pub/readme STAT /pub/readme]
}
