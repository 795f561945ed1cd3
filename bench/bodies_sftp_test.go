//go:build linux

package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/sftp"
)

// dataHead is how many bytes stand before the content in an answer to a read.
const dataHead = 13

// sftpBody is a file over SSH, which who is bare reads over SSH too, in the same messages.
func sftpBody(b *testing.B, content []byte) body {
	addr := startSSH(b, func(ch ssh.Channel) { sendFile(ch, content) })
	conn, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{User: "bench", HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	load := sftp.With(sftp.Options{NoConfig: true, KnownHosts: []string{filepath.Join(b.TempDir(), "known_hosts")},
		TrustKey: func(context.Context, sftp.HostKey) (bool, error) { return true, nil }})
	return body{load, "sftp://bench@" + addr + "/doc.txt", len(content), func() error { return readFile(conn, len(content)) }}
}

// startSSH returns the address of a server that lets everybody have SFTP.
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

// sendFile answers as if each name were that of the same file.
func sendFile(ch ssh.Channel, content []byte) {
	attrs := filexfer.Attrs{Flags: filexfer.HasSize | filexfer.HasMode | filexfer.HasTimes, Size: uint64(len(content)), Mode: filexfer.ModeRegular, MTime: 1}
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
		case filexfer.TypeOpen:
			out = filexfer.Append(out[:0], filexfer.TypeHandle, m.ID, "1")
		case filexfer.TypeRead:
			f := m.Fields()
			f.Bytes()
			from := min(f.Uint64(), uint64(len(content)))
			data := content[from:min(from+uint64(f.Uint32()), uint64(len(content)))]
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

// readFile asks for all of the file at once, and counts what comes.
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
