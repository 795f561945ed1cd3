package protocols_test

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coder/websocket"
	"golang.org/x/net/webdav"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/ipfs"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/s3"
	"github.com/urlget/urlget/protocols/sftp"
)

// A site is a resource on a server of its scheme.
type site struct {
	url string
	op  fetch.Op
	// says are replies that the server may repeat (fetchtest.Drips).
	says []string
	// pieces is set if the content is only usable in large pieces.
	pieces bool
	// session is set for sessions.
	session bool
	// unframed is set if the end of the connection ends the content.
	unframed bool
	codes    []fetch.Code // of failures, besides ErrNetwork and ErrTruncated
}

// rsyncFrames are frames without data: an empty one, MSG_NOOP, MSG_INFO and MSG_ERROR.
var rsyncFrames = []string{"\x00\x00\x00\x07", "\x00\x00\x00\x31", "\x01\x00\x00\x09x", "\x01\x00\x00\x0ax"}

// sites returns a resource of every scheme over TCP, and a function that makes clients for them.
func sites(t *testing.T) (all map[string]site, client func(scheme string, o *fetch.Options) *fetch.Client) {
	t.Helper()
	serverTLS, clientTLS := servers.Certificate()
	long := strings.Repeat("long ", 200) // a line that takes half a minute to drip
	tree := fstest.MapFS{
		"pub/long.txt":  {Data: []byte(long + "\r\n")},
		"pub/short.txt": {Data: []byte("short\r\n")},
		"pub/page.gmi":  {Data: []byte("=> /pub/short.txt " + long + "\r\n")},
	}
	for i := range 30 {
		tree["pub/"+strings.Repeat(string(rune('a'+i%26)), 60+i/26)] = &fstest.MapFile{}
	}
	groups := []nntpd.Group{{Name: "test.a", Articles: []nntpd.Article{{ID: "<1@x.invalid>", Text: "Message-ID: <1@x.invalid>\r\nSubject: " + long + "\r\n\r\n" + long + "\r\n"}}}}
	mail := "From: a@x.invalid\r\nSubject: one\r\n\r\n" + long + "\r\n"
	ssh := sftpd.Start(t, sftpd.Options{Tree: tree, Users: map[string]string{"joe": "x"}})
	shared := smbd.Start(t, smbd.Options{Tree: tree, Users: map[string]string{"joe": "x"}})
	known := t.TempDir() + "/known_hosts"
	write(t, known, ssh.KnownHosts())
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("list-type") {
			io.WriteString(w, "<ListBucketResult><Contents><Key>"+long+"</Key></Contents><IsTruncated>false</IsTruncated></ListBucketResult>")
			return
		}
		w.Header().Set("X-Long", long)
		w.Write([]byte("short"))
	}))
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	t.Cleanup(web.Close)
	plainWeb := httptest.NewServer(web.Config.Handler)
	t.Cleanup(plainWeb.Close)

	folder := t.TempDir()
	for i := range 30 {
		write(t, fmt.Sprintf("%s/%02d.txt", folder, i), long)
	}
	share := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(folder), LockSystem: webdav.NewMemLS()})
	t.Cleanup(share.Close)
	dav := "dav" + strings.TrimPrefix(share.URL, "http")

	ftp := ftpd.Start(t, ftpd.Options{Tree: tree})
	ftps := ftpd.Start(t, ftpd.Options{Tree: tree, TLS: serverTLS, Implicit: true})
	gopher := gopherd.Start(t, gopherd.Options{Tree: tree, Plus: true, Text: true, Attributes: map[string]string{"/pub/long.txt": "+ABSTRACT:\r\n " + long + "\r\n"}})
	gophers := gopherd.Start(t, gopherd.Options{Tree: tree, TLS: serverTLS})
	news := nntpd.Start(t, nntpd.Options{Groups: groups})
	snews := nntpd.Start(t, nntpd.Options{Groups: groups, TLS: serverTLS, Implicit: true})
	pop3 := popd.Start(t, popd.Options{Messages: []popd.Message{{UID: "a", Text: mail}}})
	modules := rsyncd.Start(t, rsyncd.Options{Tree: tree})
	modules27 := rsyncd.Start(t, rsyncd.Options{Tree: tree, Protocol: 27})
	nfs3 := nfsd.Start(t, nfsd.Options{Tree: tree})
	public := nfsd.Start(t, nfsd.Options{Tree: tree, Public: "."})
	imap4 := imapd.Start(t, imapd.Options{Mailboxes: map[string][]imapd.Message{"INBOX": {{Text: []byte(mail)}}}})
	wais := waisd.Start(t, waisd.Options{Tree: fstest.MapFS{"db/long.txt": tree["pub/long.txt"]}})
	catalogue := z3950d.Start(t, z3950d.Options{Tree: fstest.MapFS{"db/long.txt": tree["pub/long.txt"], "db/short.txt": tree["pub/short.txt"]}, Explain: true})
	second := queryd.Start(t, queryd.Options{Scheme: "whois", Replies: map[string]string{"r": "the rest\r\n"}})
	whois := queryd.Start(t, queryd.Options{Scheme: "whois", Replies: map[string]string{"x": long + "\r\n", "r": "refer: whois://" + second.Addr + "\r\n"}})
	finger := queryd.Start(t, queryd.Options{Scheme: "finger", Replies: map[string]string{"x": long + "\r\n"}})
	dict := dictd.Start(t, dictd.Options{Words: map[string]string{"x": long + "\n"}})
	cso := csod.Start(t, csod.Options{People: []csod.Person{{{Name: "name", Value: "x"}, {Name: "note", Value: long}}}})
	gemini := geminid.Start(t, geminid.Options{Tree: tree, Types: map[string]string{".gmi": "text/gemini"}})
	spartan := spartand.Start(t, spartand.Options{Tree: tree, Types: map[string]string{".gmi": "text/gemini"}})
	nex := nexd.Start(t, nexd.Options{Tree: tree, Replies: map[string]string{"long/": "=> short.txt " + long + "\r\n"}})
	directory := canned(t, ldapEntry(1, "cn=x", "description", long), ldapDone(1))
	rlogin := canned(t, "\x00"+long)
	refusing := canned(t, "no "+long)
	socket := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			c.Write(r.Context(), websocket.MessageText, []byte(long))
			c.Close(websocket.StatusNormalClosure, "")
		}
	})
	sockets, tlsSockets := httptest.NewServer(socket), httptest.NewUnstartedServer(socket)
	tlsSockets.TLS, tlsSockets.Config.ErrorLog = serverTLS, web.Config.ErrorLog
	tlsSockets.StartTLS()
	t.Cleanup(sockets.Close)
	t.Cleanup(tlsSockets.Close)
	gateway, blocks := ipfsGateway(t, []byte(long))
	telnet := servers.Start(t, servers.Config{Scheme: "telnet"}, func(c *servers.Conn) { io.WriteString(c, long) }).Addr

	client = func(scheme string, o *fetch.Options) *fetch.Client {
		o.TLS = clientTLS
		if scheme == "https" {
			o.TLS = web.Client().Transport.(*http.Transport).TLSClientConfig
		}
		return fetch.New(o, protocols.With(protocols.Config{
			IMAP: &imap.Options{AllowPlaintext: true}, IPFS: &ipfs.Options{Gateway: gateway}, POP: &pop.Options{AllowPlaintext: true},
			SFTP: &sftp.Options{KnownHosts: []string{known}, NoConfig: true, NoAgent: true},
			S3:   &s3.Options{Endpoint: plainWeb.URL, Getenv: func(string) string { return "" }},
		}))
	}
	return map[string]site{
		"http":         {url: plainWeb.URL, says: []string{"HTTP/1.1 100\r\n", "X: y\r\n"}},
		"https":        {url: web.URL},
		"dav":          {url: dav + "/01.txt", says: []string{"HTTP/1.1 100\r\n", "X: y\r\n"}},
		"dav, list":    {url: dav + "/", op: fetch.OpList, pieces: true, says: []string{"<x/>", "<response>"}},
		"dav, stat":    {url: dav + "/", op: fetch.OpStat, pieces: true},
		"ftp":          {url: ftp.URL + "/pub/short.txt", says: []string{"220-x\r\n", "150 x\r\n", "220 x\r\n", "120 x\r\n"}},
		"ftp, list":    {unframed: true, url: ftp.URL + "/pub/", op: fetch.OpList, says: []string{"226-x\r\n"}},
		"ftps":         {url: ftps.URL + "/pub/short.txt"},
		"gopher, text": {unframed: true, url: gopher.URL + "/0/pub/long.txt", pieces: true, says: []string{"3x", ".", "\r\n.\r\n"}},
		"gopher, menu": {unframed: true, url: gopher.URL + "/1/pub", op: fetch.OpList, says: []string{"i"}},
		"gopher, plus": {unframed: true, url: gopher.URL + "/0/pub/short.txt%09%09+", says: []string{"+", "0", "-"}},
		"gopher, attributes": {url: gopher.URL + "/0/pub/long.txt%09%09!", pieces: true,
			says: []string{"+INFO: x\r\n", " x\r\n", "+"}},
		"gopher, described": {url: gopher.URL + "/0/pub/long.txt%09%09+", op: fetch.OpStat, says: []string{" x\r\n"}},
		"gopher, binary":    {url: gopher.URL + "/9/pub/short.txt", unframed: true},
		"gemini, directory": {url: gemini.URL + "/pub", op: fetch.OpList},
		"gemini, file":      {url: gemini.URL + "/pub/short.txt"},
		"gemini, missing":   {url: gemini.URL + "/pub/none"},
		"wais, described":   {url: wais.URL + "/db"},
		"dict, third":       {url: dict.URL + "/d:x:tree:1"},
		"dict, databases":   {url: dict.URL + "/", op: fetch.OpList},
		"sftp, metadata":    {url: "sftp://joe:x@" + ssh.Addr + "/pub/long.txt", op: fetch.OpStat},
		"gophers":           {unframed: true, url: gophers.URL + "/0/pub/long.txt", pieces: true},
		"news":              {url: "news://" + news.Addr + "/1@x.invalid", pieces: true, says: []string{"200 x\r\n", "VERSION 2\r\n", "A: b\r\n"}},
		"news, header":      {url: "news://" + news.Addr + "/1@x.invalid", op: fetch.OpStat, says: []string{"A: b\r\n"}},
		"news, group":       {url: "news://" + news.Addr + "/test.a", op: fetch.OpList, pieces: true, says: []string{"1 x\r\n"}},
		"news, groups":      {url: "news://" + news.Addr + "/*", op: fetch.OpList},
		"nntp":              {url: "nntp://" + news.Addr + "/test.a/1", pieces: true},
		"snews":             {url: "snews://" + snews.Addr + "/1@x.invalid", pieces: true},
		"pop":               {url: "pop://joe:x@" + pop3.Addr + "/1", pieces: true, says: []string{"+OK x\r\n", "A: b\r\n"}},
		"pop, list":         {url: "pop://joe:x@" + pop3.Addr + "/", op: fetch.OpList, says: []string{"1 a\r\n"}},
		"nfs":               {url: nfs3.URL + "/pub/long.txt", pieces: true, says: []string{"\x80\x00\x00\x18", "\x00\x00\x00\x00"}},
		"nfs, public":       {url: public.URL + "/pub/long.txt", pieces: true, says: []string{"\x00\x00\x00\x01x"}},
		"nfs, list":         {url: nfs3.URL + "/pub/", op: fetch.OpList, pieces: true, says: []string{"\x80\x00\x00\x18"}},
		"nfs, metadata":     {url: public.URL + "/pub/long.txt", op: fetch.OpStat},
		"ipfs":              {url: "ipfs://" + blocks[1] + "/long.txt", pieces: true, says: []string{"HTTP/1.1 100\r\n", "X: y\r\n"}},
		"ipfs, list":        {url: "ipfs://" + blocks[1] + "/", op: fetch.OpList, pieces: true},
		"rsync":             {url: modules.URL + "/files/pub/long.txt", says: rsyncFrames},
		"rsync, 27":         {url: modules27.URL + "/files/pub/long.txt", says: rsyncFrames},
		"rsync, list":       {url: modules.URL + "/files/pub/", op: fetch.OpList, pieces: true, says: rsyncFrames},
		"rsync, metadata":   {url: modules.URL + "/files/pub/long.txt", op: fetch.OpStat, says: rsyncFrames},
		"rsync, modules":    {url: modules.URL + "/", op: fetch.OpList, says: []string{"x              \tx\n", "\n"}},
		"imap":              {url: "imap://joe:x@" + imap4.Addr + "/INBOX/;UID=1", says: []string{"* OK x\r\n", "+ x\r\n", "* X\r\n"}},
		"imap, list":        {url: "imap://joe:x@" + imap4.Addr + "/INBOX", op: fetch.OpList, says: []string{"* OK x\r\n", "* 1 EXISTS\r\n"}},
		"imap, mailboxes":   {url: "imap://joe:x@" + imap4.Addr + "/", op: fetch.OpList, says: []string{"* OK x\r\n"}},
		"imap, search":      {url: "imap://joe:x@" + imap4.Addr + "/INBOX?ALL", op: fetch.OpList, says: []string{"* OK x\r\n", "* SEARCH 1\r\n"}},
		"wais":              {url: wais.Document("db", "long.txt"), pieces: true, says: []string{"0000000000z"}},
		"wais, search":      {url: wais.URL + "/db?long", op: fetch.OpList},
		"z39.50, document":  {url: "z39.50r://" + catalogue.Addr + "/db?long.txt", says: []string{"\xb9\x80", "\x30\x00"}},
		"z39.50, record":    {url: catalogue.URL + "/db?long;item=1", says: []string{"\xb9\x80"}},
		"z39.50, search":    {url: catalogue.URL + "/db?long", op: fetch.OpList, pieces: true, says: []string{"\xb9\x80", "\xbc\x80"}},
		"z39.50, words":     {url: catalogue.URL + "/db", op: fetch.OpList},
		"z39.50, databases": {url: catalogue.URL + "/", op: fetch.OpList},
		"whois":             {unframed: true, url: whois.URL + "/x", pieces: true, says: []string{"refer: x\r\n"}},
		"finger":            {unframed: true, url: finger.URL + "/x", pieces: true},
		"dict":              {url: dict.URL + "/d:x", pieces: true, says: []string{"220-x\r\n", "250-x\r\n", "250 x\r\n", "151 x y\r\n.\r\n"}},
		"dict, matches":     {url: dict.URL + "/m:x", op: fetch.OpList, says: []string{"220-x\r\n"}},
		"cso":               {url: cso.URL + "/name=x", op: fetch.OpList, pieces: true, says: []string{"-100:x\r\n", "100:x\r\n", "-501:x\r\n"}},
		"gemini":            {url: gemini.URL + "/pub/page.gmi", op: fetch.OpList, pieces: true},
		"spartan":           {unframed: true, url: spartan.URL + "/pub/page.gmi", op: fetch.OpList, pieces: true, says: []string{"2 \r\n", "=: /x\r\n"}},
		"spartan, file":     {unframed: true, url: spartan.URL + "/pub/short.txt"},
		"spartan, moved":    {unframed: true, url: spartan.URL + "/pub", op: fetch.OpList},
		"spartan, missing":  {url: spartan.URL + "/pub/none"},
		"nex":               {unframed: true, url: nex.URL + "/pub/short.txt"},
		"nex, list":         {unframed: true, url: nex.URL + "/long/", op: fetch.OpList, pieces: true, says: []string{"=> x\r\n"}},
		"s3":                {url: "s3://bucket/key", says: []string{"HTTP/1.1 100\r\n", "X: y\r\n"}},
		"s3, list":          {url: "s3://bucket/", op: fetch.OpList, pieces: true, says: []string{"HTTP/1.1 100\r\n"}},
		"sftp":              {url: "sftp://joe:x@" + ssh.Addr + "/pub/long.txt", pieces: true, says: []string{"SSH-2.0-x\r\n"}},
		"sftp, list":        {url: "sftp://joe:x@" + ssh.Addr + "/pub/", op: fetch.OpList, pieces: true},
		"smb":               {url: "smb://joe:x@" + shared.Addr + "/share/pub/long.txt", pieces: true, codes: []fetch.Code{fetch.ErrProtocol}},
		"smb, list":         {url: "smb://joe:x@" + shared.Addr + "/share/pub/", op: fetch.OpList, pieces: true, codes: []fetch.Code{fetch.ErrProtocol}},
		"smb, shares":       {url: "smb://joe:x@" + shared.Addr + "/", op: fetch.OpList, pieces: true, codes: []fetch.Code{fetch.ErrProtocol}},
		"scp":               {url: "scp://joe:x@" + ssh.Addr + "/pub/long.txt", pieces: true},
		"ldap":              {url: "ldap://" + directory + "/cn=x", pieces: true, says: []string{ldapIntermediate(1)}},
		"ldap, list":        {url: "ldap://" + directory + "/cn=x", op: fetch.OpList, pieces: true, says: []string{ldapIntermediate(1)}},
		"rlogin":            {unframed: true, url: "rlogin://joe@" + rlogin + "/", session: true},
		"rlogin, refused":   {url: "rlogin://joe@" + refusing + "/", session: true},
		"telnet":            {unframed: true, url: "telnet://" + telnet + "/", session: true, says: []string{"\xff\xf1", "\xff\xfb\x01", "\xff"}},
		"ws":                {url: "ws" + strings.TrimPrefix(sockets.URL, "http"), session: true, says: []string{"HTTP/1.1 100\r\n", "X: y\r\n", "\x01\x00", "\x01x"}, codes: []fetch.Code{fetch.ErrProtocol}},
		"wss":               {url: "ws" + strings.TrimPrefix(tlsSockets.URL, "http"), session: true, codes: []fetch.Code{fetch.ErrProtocol}},
		"tn3270":            {unframed: true, url: "tn3270://" + telnet + "/", session: true, says: []string{"\xff\xf1", "\xff\xfd\x18"}},
	}, client
}

// ipfsGateway starts a gateway, and returns its URL and the CIDs of a file and of its directory.
func ipfsGateway(t *testing.T, file []byte) (gateway string, cids []string) {
	t.Helper()
	served := make(map[string][]byte)
	add := func(codec string, block []byte) string {
		sum := sha256.Sum256(block)
		id := "01" + codec + "1220" + hex.EncodeToString(sum[:])
		b, _ := hex.DecodeString(id)
		served["/ipfs/b"+strings.ToLower(strings.TrimRight(base32.StdEncoding.EncodeToString(b), "="))] = block
		cids = append(cids, "f"+id)
		return string(b)
	}
	link := "\x0a\x24" + add("55", file) + "\x12\x08long.txt"
	add("70", []byte("\x12"+string(rune(len(link)))+link+"\x0a\x02\x08\x01"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(served[r.URL.Path]) }))
	t.Cleanup(s.Close)
	return s.URL, cids
}

// write writes a file.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// canned starts a server that sends the same response to every client, and returns its address.
func canned(t *testing.T, parts ...string) string {
	t.Helper()
	s := servers.Start(t, servers.Config{Scheme: "x"}, func(c *servers.Conn) {
		if _, err := c.Read(make([]byte, 4<<10)); err == nil {
			io.WriteString(c, strings.Join(parts, ""))
		}
	})
	return s.Addr
}

// ber encodes a BER value as LDAP requires (RFC 4511, section 5.1).
func ber(tag byte, content ...string) string {
	all := strings.Join(content, "")
	return string([]byte{tag, 0x82, byte(len(all) >> 8), byte(len(all))}) + all
}

func ldapMessage(id byte, op string) string { return ber(0x30, ber(0x02, string(rune(id))), op) }

func ldapEntry(id byte, dn, name, value string) string {
	return ldapMessage(id, ber(0x64, ber(0x04, dn), ber(0x30, ber(0x30, ber(0x04, name), ber(0x31, ber(0x04, value))))))
}

func ldapDone(id byte) string {
	return ldapMessage(id, ber(0x65, ber(0x0a, "\x00"), ber(0x04), ber(0x04)))
}

func ldapIntermediate(id byte) string { return ldapMessage(id, ber(0x79)) }
