//go:build linux

package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/sftp"
)

// dataHead is the number of bytes before the content in a reply to a read.
const dataHead = 13

// sftpBody is a file over SFTP. The bare client reads it over SSH with the same messages.
func sftpBody(b *testing.B, content []byte) body {
	addr := startSSH(b, func(ch ssh.Channel) { sendFile(ch, content, len(content)) })
	conn, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{User: "bench", HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return body{trustingSFTP(b.TempDir()), "sftp://bench@" + addr + "/doc.txt", len(content), func() error { return readFile(conn, len(content)) }}
}

// startSSH returns the address of an SSH server that accepts every login and starts the sftp
// subsystem.
func startSSH(b *testing.B, serve func(ssh.Channel)) string {
	key, err := sftpd.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	cfg := &ssh.ServerConfig{NoClientAuth: true}
	cfg.AddHostKey(key)
	return listen(b, func(raw net.Conn) {
		conn, chans, reqs, err := ssh.NewServerConn(raw, cfg)
		if err != nil {
			return
		}
		defer conn.Close()
		go ssh.DiscardRequests(reqs)
		for open := range chans {
			ch, reqs, err := open.Accept()
			if err != nil {
				return
			}
			go func() {
				for r := range reqs {
					r.Reply(r.Type == "subsystem", nil)
				}
			}()
			go func() {
				defer ch.Close()
				serve(ch)
			}()
		}
	})
}

// BenchmarkSFTPFile saves 1 GiB from a server that sends it from memory, with the driver and with
// OpenSSH's sftp in turn. The target is 1.1 times the time of sftp.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench SFTPFile -benchtime 5x ./bench
func BenchmarkSFTPFile(b *testing.B) {
	if _, err := exec.LookPath("sftp"); err != nil {
		b.Skip("OpenSSH's sftp is not installed")
	}
	content := make([]byte, 64<<20)
	addr := startSSH(b, func(ch ssh.Channel) { sendFile(ch, content, 1<<30) })
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	ours := func(own string) error {
		c := fetch.New(nil, trustingSFTP(own))
		defer c.Close()
		resp, err := c.Get(b.Context(), "sftp://bench@"+addr+"/doc.txt")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		f, err := os.Create(filepath.Join(own, "file"))
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(f, resp.Body)
		return err
	}
	compare(b, dir, ours, []rival{{name: "sftp", args: []string{"sftp", "-q", "-F", "none", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-P", port, "bench@127.0.0.1:/doc.txt", "file"}}})
}

// trustingSFTP loads the driver, which accepts any host key.
func trustingSFTP(dir string) fetch.Loader {
	return sftp.With(sftp.Options{NoConfig: true, KnownHosts: []string{filepath.Join(dir, "known_hosts")},
		TrustKey: func(context.Context, sftp.HostKey) (bool, error) { return true, nil }})
}

// sendFile serves the same file under every name. It repeats content up to size.
func sendFile(ch ssh.Channel, content []byte, size int) {
	attrs := filexfer.Attrs{Flags: filexfer.AttrSize | filexfer.AttrPermissions | filexfer.AttrACModTime, Size: uint64(size), Mode: filexfer.ModeRegular | 0o644, MTime: 1}
	r := bufio.NewReaderSize(ch, 64<<10)
	out, in := make([]byte, 0, filexfer.MaxData+64), make([]byte, filexfer.MaxMessage)
	for {
		m, err := filexfer.Read(r, func(n int) []byte { return in[:n] })
		if err != nil {
			return
		}
		switch m.Type {
		case filexfer.TypeInit:
			out = filexfer.Append(out[:0], filexfer.TypeVersion, filexfer.Version)
		case filexfer.TypeStat, filexfer.TypeLstat, filexfer.TypeFstat:
			out = filexfer.Append(out[:0], filexfer.TypeAttrs, m.ID, attrs)
		case filexfer.TypeRealpath:
			out = filexfer.Append(out[:0], filexfer.TypeName, m.ID, uint32(1), "/doc.txt", "", filexfer.Attrs{})
		case filexfer.TypeOpen:
			out = filexfer.Append(out[:0], filexfer.TypeHandle, m.ID, "1")
		case filexfer.TypeRead:
			f := m.Fields()
			f.Bytes()
			from := min(f.Uint64(), uint64(size))
			until := min(from+uint64(f.Uint32()), uint64(size))
			at := from % uint64(len(content))
			data := content[at:min(at+until-from, uint64(len(content)))]
			if len(data) == 0 {
				out = filexfer.Append(out[:0], filexfer.TypeStatus, m.ID, uint32(filexfer.CodeEOF), "", "")
				break
			}
			out = append(out[:0], 0, 0, 0, 0, byte(filexfer.TypeData))
			out = binary.BigEndian.AppendUint32(out, m.ID)
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(data))), data...)
			binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		default:
			out = filexfer.Append(out[:0], filexfer.TypeStatus, m.ID, uint32(filexfer.CodeOK), "", "")
		}
		if _, err := ch.Write(out); err != nil {
			return
		}
	}
}

// readFile requests the whole file at once and counts the bytes received.
func readFile(conn *ssh.Client, size int) error {
	ch, reqs, err := conn.OpenChannel("session", nil)
	if err != nil {
		return err
	}
	defer ch.Close()
	go ssh.DiscardRequests(reqs)
	if _, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"})); err != nil {
		return err
	}
	var requests []byte
	expected := 0
	for at := 0; at < size; at += filexfer.MaxData {
		requests = filexfer.Append(requests, filexfer.TypeRead, uint32(at), "1", uint64(at), uint32(filexfer.MaxData))
		expected += dataHead + min(filexfer.MaxData, size-at)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := ch.Write(requests)
		sent <- err
	}()
	if err := discardSome(ch, expected); err != nil {
		return err
	}
	return <-sent
}
