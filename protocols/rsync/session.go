package rsync

import (
	"encoding/binary"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/rsync"
)

const (
	// maxLines limits the lines before a transfer: the message of the day.
	maxLines = 1 << 14
	// maxComplaint limits the text of a message that is kept, in bytes.
	maxComplaint = 512
)

// A session is a connection, which serves one transfer.
type session struct {
	env      fetch.Env
	conn     *fetch.Conn
	close    func() // ends the session, also while another goroutine uses it
	r        *wire.Reader
	protocol int
	digests  []string // for logins, as offered by the server
	seed     uint32   // of checksums
	in       *rsync.Decoder

	complaint string // the first message about an error
	errors    int32  // bits of io_error
}

func (s *session) replyTimeout() (done func()) { return s.conn.ReplyTimeout(s.env.Timeouts().Reply) }

// send sends a line. The recording gets shown instead.
func (s *session) send(line, shown string) error {
	if err := wire.CheckLine(line); err != nil {
		return err
	}
	s.trace(true, shown)
	_, err := s.conn.WriteMasked([]byte(line+"\n"), []byte(shown+"\n"))
	return err
}

func (s *session) trace(sent bool, line string) {
	if trace := s.conn.Line(); trace != nil {
		trace(sent, line)
	}
}

func (s *session) line() (string, error) {
	b, err := s.r.Line()
	if err != nil {
		return "", s.fail(err)
	}
	line := string(b)
	s.trace(false, line)
	if said, ok := strings.CutPrefix(line, "@ERROR"); ok {
		return "", refusal(strings.TrimLeft(said, ": "))
	}
	return line, nil
}

// greet exchanges the greetings. The session uses the older of both versions.
func (s *session) greet(protocol int) error {
	line, err := s.line()
	if err != nil {
		return err
	}
	if s.protocol, s.digests, err = rsync.ParseGreeting(line); err != nil {
		return s.fail(err)
	}
	if s.protocol < rsync.MinProtocol {
		return fetch.ErrRefused.Errorf("the server speaks version %d of the protocol, which is older than %d",
			s.protocol, rsync.MinProtocol)
	}
	s.protocol = min(s.protocol, protocol)
	var digests []string
	if len(s.digests) > 0 {
		digests = rsync.Digests()
	}
	greeting := rsync.Greeting(protocol, digests)
	return s.send(greeting, greeting)
}

// selectModule returns the challenge of a server that requires a login, or "".
func (s *session) selectModule(module string) (challenge string, err error) {
	if err := s.send(module, module); err != nil {
		return "", err
	}
	for range maxLines {
		line, err := s.line()
		if err != nil {
			return "", err
		}
		said, ok := strings.CutPrefix(line, "@RSYNCD: ")
		challenge, isChallenge := strings.CutPrefix(said, "AUTHREQD ")
		switch {
		case !ok: // the message of the day
		case said == "OK":
			return "", nil
		case isChallenge && challenge != "":
			return challenge, nil
		default:
			return "", fetch.ErrProtocol.Errorf("unexpected line %.100q", line)
		}
	}
	return "", fetch.ErrProtocol.Errorf("more than %d lines before the transfer", maxLines)
}

// login answers a challenge.
func (s *session) login(cred fetch.Credential, challenge string) error {
	digest := rsync.LoginDigest(s.protocol, s.digests)
	if digest == "" {
		return fetch.ErrRefused.Errorf("no known digest for the login: %.100q", s.digests)
	}
	err := s.send(cred.User+" "+rsync.LoginResponse(digest, cred.Password, challenge), cred.User+" ****")
	if err != nil {
		return err
	}
	line, err := s.line()
	if err == nil && line != "@RSYNCD: OK" {
		err = fetch.ErrProtocol.Errorf("unexpected line %.100q", line)
	}
	return err
}

// Options of the server's process, before those that both kinds of requests have.
const (
	followLinks = "-L"
	showLinks   = "-l"
)

// start requests the file list of path. Since version 29, the option -d lists directories without those
// below them. For older ones, a rule excludes what is below.
func (s *session) start(option, path string) error {
	var rules []byte
	if s.protocol >= 29 {
		option += "d"
	} else {
		const rule = "- /*/*"
		option += "r"
		rules = append(rsync.AppendInt(nil, int32(len(rule))), rule...)
	}
	option += "e.f" // capabilities: f, the file list may end with an error
	args := []string{"--server", "--sender", option, ".", path}
	s.trace(true, strings.Join(args, " "))
	if _, err := s.conn.Write(rsync.AppendArguments(nil, s.protocol, args)); err != nil {
		return err
	}
	if err := s.setup(); err != nil {
		return err
	}
	return s.write(rsync.AppendInt(rules, 0))
}

// Bits of compat_flags. The server may only set those whose letters are among the capabilities.
const (
	incrementalRecursion = 1 << 0 // CF_INC_RECURSE
	varintFlags          = 1 << 7 // CF_VARINT_FLIST_FLAGS
)

func (s *session) setup() error {
	plain := rsync.NewDecoder(s.r, s.protocol)
	if s.protocol >= 30 {
		if flags := plain.Varint(); flags&(incrementalRecursion|varintFlags) != 0 {
			return fetch.ErrProtocol.Errorf("compatibility flags %#x, which were not offered", flags)
		}
	}
	s.seed = uint32(plain.Int())
	if err := plain.Err(); err != nil {
		return s.fail(err)
	}
	s.in = rsync.NewDecoder(&rsync.Frames{Source: s.r, Message: s.message}, s.protocol)
	return nil
}

// write sends binary values. Since version 30, they are in frames.
func (s *session) write(b []byte) error {
	if s.protocol >= 30 {
		b = rsync.AppendFrame(nil, rsync.Data, b)
	}
	_, err := s.conn.Write(b)
	return err
}

func (s *session) message(tag rsync.Tag, payload []byte) error {
	text := strings.TrimSpace(string(payload))
	switch tag {
	case rsync.ErrorXfer, rsync.Error, rsync.Warning:
		s.trace(false, tag.String()+" "+text)
		if s.complaint == "" {
			s.complaint = text[:min(len(text), maxComplaint)]
		}
	case rsync.IOError:
		if len(payload) == 4 {
			s.errors |= int32(binary.LittleEndian.Uint32(payload))
		}
	case rsync.NoSend, rsync.ErrorExit:
		return errEnded
	}
	return nil
}

// appendEnd appends the end of all phases: there are no further requests.
func (s *session) appendEnd(b []byte) []byte {
	before, after := rsync.Phases(s.protocol)
	for range before + after {
		b = rsync.AppendDone(b, s.protocol)
	}
	return b
}

// leave ends a session without a transfer in an orderly way, so that the server does not log an error.
func (s *session) leave() {
	if s.write(s.appendEnd(nil)) == nil {
		s.awaitEnd()
	}
}

// awaitEnd reads the server's response to appendEnd: the ends of the phases and the statistics. The
// content is complete before, so a failure has no consequence.
func (s *session) awaitEnd() {
	defer s.replyTimeout()()
	before, after := rsync.Phases(s.protocol)
	for range before {
		if s.in.File() {
			return
		}
	}
	statistics := 3
	if s.protocol >= 29 {
		statistics = 5
	}
	for range statistics {
		s.in.Long(3)
	}
	for range after - 1 {
		s.in.Byte()
	}
	if err := s.in.Err(); err != nil {
		s.env.Logger().Debug("rsync: the session did not end as expected", "error", err)
	}
}
