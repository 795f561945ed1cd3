//go:build integration

package lab

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

const maxWait = 10 * time.Second

// A step sends a text and waits for a response.
type step struct {
	send, want string
	tls        bool // then TLS starts
	telnet     bool // refuse telnet options from now on
}

var conversations = map[string]map[string][]step{
	"vsftpd": {
		"plain": {{want: "220 "}, {send: "AUTH TLS\r\n", want: "234 ", tls: true},
			{send: "USER labuser\r\n", want: "331 "}, {send: "PASS s3cret\r\n", want: "230 "}, {send: "QUIT\r\n", want: "221 "}},
		"tls": {{want: "220 "}, {send: "USER anonymous\r\n", want: "230 "}, {send: "SIZE octets.bin\r\n", want: "213 1037"}},
	},
	"proftpd": {"plain": {{want: "220 "}, {send: "AUTH TLS\r\n", want: "234 ", tls: true},
		{send: "USER labuser\r\n", want: "331 "}, {send: "PASS s3cret\r\n", want: "230 "}, {send: "MDTM dates/1994.txt\r\n", want: "213 19941220080000"}}},
	"pure-ftpd": {"plain": {{want: "220 "}, {send: "AUTH TLS\r\n", want: "234 ", tls: true},
		{send: "USER labuser\r\n", want: "331 "}, {send: "PASS s3cret\r\n", want: "230 "}, {send: "MDTM dates/1994.txt\r\n", want: "213 19941220080000"}}},
	"pyftpdlib": {"plain": {{want: "220 "}, {send: "AUTH TLS\r\n", want: "234 ", tls: true},
		{send: "USER labuser\r\n", want: "331 "}, {send: "PASS s3cret\r\n", want: "230 "}, {send: "MDTM dates/1994.txt\r\n", want: "213 19941220080000"}}},
	"openssh":        {"ssh": {{want: "SSH-2.0-OpenSSH"}, {send: "SSH-2.0-lab\r\n", want: "ecdsa-sha2-nistp256"}}},
	"ganesha":        {"nfs": {{send: nfsNull, want: "x\x00\x00\x00\x01"}}, "mount": {{send: mountNull, want: "x\x00\x00\x00\x01"}}},
	"samba":          {"smb": {{send: sambaHello, want: "\xfeSMB@"}}},
	"samba-variants": {"SMB2_10": {{send: sambaHello, want: "\xfeSMB@"}}, "AES-128-CMAC": {{send: sambaHello, want: "\xfeSMB@"}}},
	"rsync":          {"plain": {{want: "@RSYNCD: "}, {send: "@RSYNCD: 31.0 md5\n#list\n", want: "lab            \tthe files of the lab\nprivate        \t"}}},
	"nginx": {
		"plain": {{send: "GET /hello.txt HTTP/1.1\r\nHost: x\r\nRange: bytes=0-4\r\n\r\n", want: "206 Partial Content"}},
		"tls":   {{send: "GET /auth/hello.txt HTTP/1.0\r\n\r\n", want: "401 Unauthorized"}},
	},
	"gophernicus": {"plain": {{send: "/gopher/cgi-bin/search\tsome words\r\n", want: "You searched for: some words"}}},
	"molly-brown": {"plain": {{send: "gemini://localhost/none\r\n", want: "51 "}}},
	"pygopherd": {
		"plain": {{send: "/gopher/plus/form\t!\r\n", want: "+ASK:\r\n Note: Who are you?"}},
		"tls":   {{send: "/gopher/cgi-bin/search\tsome words\r\n", want: "You searched for: some words"}},
	},
	"dovecot": {
		"pop": {{want: "+OK "}, {send: "STLS\r\n", want: "+OK ", tls: true}, {send: "USER labuser\r\n", want: "+OK"},
			{send: "PASS s3cret\r\n", want: "+OK "}, {send: "UIDL 1\r\n", want: "+OK 1 001.eml\r\n"}},
		"imaps": {{want: "* OK "}, {send: "a LOGIN labuser s3cret\r\n", want: "a OK "},
			{send: "b STATUS INBOX (MESSAGES)\r\n", want: "(MESSAGES 9)"}},
	},
	"inn": {
		"plain": {{want: "200 "}, {send: "LISTGROUP test.urlget\r\n", want: "\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n.\r\n"}},
		"starttls": {{want: "200 "}, {send: "STARTTLS\r\n", want: "382 ", tls: true}, {send: "GROUP test.private\r\n", want: "480 "},
			{send: "AUTHINFO USER labuser\r\n", want: "381 "}, {send: "AUTHINFO PASS s3cret\r\n", want: "281 "},
			{send: "GROUP test.private\r\n", want: "211 1 1 1 "}},
		"tls": {{want: "200 "}, {send: "BODY <dots@lab.invalid>\r\n", want: "\r\n...two dots\r\n..one dot\r\n..\r\n"}},
	},
	"sn": {"plain": {{want: "200 "}, {send: "CAPABILITIES\r\n", want: "500 "}, {send: "GROUP test.urlget\r\n", want: "211 6 10 15 "},
		{send: "BODY <dots@lab.invalid>\r\n", want: "\r\n...two dots\r\n..one dot\r\n..\r\n"}}},
	"telnetd": {"plain": {
		{want: "login: ", telnet: true},
		{send: "labuser\r\x00", want: "Password: "}, {send: "s3cret\r\x00", want: "Welcome labuser"}, {send: "exit\r\x00", want: "Goodbye"}}},
	"rlogind": {"plain": {{send: "\x00tester\x00labuser\x00dumb/9600\x00", want: "Password: "}, {send: "s3cret\r", want: "$ "},
		{send: "echo to$((40+2))ld\r", want: "to42ld"}}},
	"hercules": {"plain": {
		{want: "\xff\xfd\x18"}, {send: "\xff\xfb\x18", want: "\xff\xfa\x18\x01\xff\xf0"},
		{send: "\xff\xfa\x18\x00IBM-3278-2\xff\xf0", want: "\xff\xfd\x19"}, {send: "\xff\xfb\x19\xff\xfd\x19\xff\xfb\x00\xff\xfd\x00", want: "\xff\xef"}}},
	"fingerd": {"plain": {{send: "/W labuser\r\n", want: "To be fingered.\n"}}},
	"whois":   {"plain": {{send: "referred.test\r\n", want: "refer: "}}},
	"ztest":   {"plain": {{send: zInit, want: "GFS/YAZ"}}},
	"zebra":   {"plain": {{send: zInit, want: "Zebra Information Server"}}},
	"dictd": {"plain": {{want: "220 "}, {send: "DEFINE * url\r\n", want: "Uniform Resource Locator"}, {send: "DEFINE * nothing\r\n", want: "552 "},
		{send: "DEFINE testdict \"café\"\r\n", want: "A headword in UTF-8."}}},
	"slapd": {
		"plain": {
			// The StartTLS request of RFC 4511, section 4.14.1, and its success.
			{send: "\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037", want: "\x02\x01\x01\x78\x07\x0a\x01\x00", tls: true},
			{send: ldapSearch, want: "urlget lab"}},
		"tls": {{send: ldapSearch, want: "urlget lab"}},
	},
	"tinyproxy":  {"auth": {{send: "GET http://127.0.0.1:1/ HTTP/1.0\r\nProxy-Authorization: Basic bGFidXNlcjpzM2NyZXQ=\r\n\r\n", want: " 500 "}}},
	"squid":      {"auth": {{send: "GET http://127.0.0.1:1/ HTTP/1.0\r\nProxy-Authorization: Basic bGFidXNlcjpzM2NyZXQ=\r\n\r\n", want: " 503 "}}},
	"microsocks": {"auth": {{send: "\x05\x01\x02", want: "\x05\x02"}, {send: "\x01\x07labuser\x06s3cret", want: "\x01\x00"}}},
	"tftpd-hpa": {"plain": {{send: "\x00\x01hello.txt\x00octet\x00tsize\x000\x00", want: "\x00\x06tsize\x0020\x00"},
		{send: "\x00\x04\x00\x00", want: "\x00\x03\x00\x01Hello from the lab.\n"}}},
	"atftpd": {"plain": {{send: "\x00\x01hello.txt\x00octet\x00windowsize\x004\x00", want: "\x00\x06windowsize\x004\x00"},
		{send: "\x00\x04\x00\x00", want: "\x00\x03\x00\x01Hello from the lab.\n"}}},
	"waisd": {"plain": {{send: waisSearch(), want: "Information on database: text"}}},
	"prosperod": {"plain": {{send: "\x01VERSION 5\nGET-OBJECT-INFO CONTENTS ASCII /hello.txt\n",
		want: "DATA 'Hello from the lab."}}},
}

func TestServersStart(t *testing.T) {
	for _, svc := range services {
		t.Run(svc.name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, svc.name)
			ports := conversations[svc.name]
			if len(ports) == 0 {
				t.Fatal("no conversation to hold with it")
			}
			for _, p := range svc.ports {
				if steps := ports[p.name]; steps != nil {
					t.Run(p.name, func(t *testing.T) { converse(t, p.greeting, s.Addr(p.name), steps) })
				}
			}
		})
	}
}

// converse performs the steps over a connection that starts like that of g.
func converse(t *testing.T, g greeting, addr string, steps []step) {
	conn, err := g.dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { conn.Close() }()
	conn.SetDeadline(time.Now().Add(maxWait))
	for _, st := range steps {
		if st.telnet {
			conn = &telnetConn{Conn: conn, in: bufio.NewReader(conn)}
		}
		if _, err := io.WriteString(conn, st.send); err != nil {
			t.Fatal(err)
		}
		var got []byte
		buf := make([]byte, 4096)
		for !bytes.Contains(got, []byte(st.want)) {
			n, err := conn.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil && !bytes.Contains(got, []byte(st.want)) {
				t.Fatalf("response to %q is %q, without %q: %v", st.send, got, st.want, err)
			}
		}
		if st.tls {
			secure := tls.Client(conn, &tls.Config{RootCAs: CA(), ServerName: "localhost"})
			if err := secure.HandshakeContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			conn = secure
		}
	}
}

// A telnetConn refuses every option that the server requests or offers (RFC 854).
type telnetConn struct {
	net.Conn
	in *bufio.Reader
}

// Read reads one byte of data.
func (c *telnetConn) Read(p []byte) (int, error) {
	const se, sb, telnetWill, telnetWont, do, telnetDont, iac = 240, 250, 251, 252, 253, 254, 255
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != iac {
			return copy(p, []byte{b}), nil
		}
		command, err := c.in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch command {
		case telnetWill, do:
			option, err := c.in.ReadByte()
			if err != nil {
				return 0, err
			}
			answer := byte(telnetDont)
			if command == do {
				answer = telnetWont
			}
			if _, err := c.Write([]byte{iac, answer, option}); err != nil {
				return 0, err
			}
		case telnetWont, telnetDont:
			_, err = c.in.Discard(1)
		case sb:
			_, err = c.in.ReadString(se)
		}
		if err != nil {
			return 0, err
		}
	}
}
