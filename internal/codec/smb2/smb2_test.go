package smb2

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestCMAC checks the examples of RFC 4493, section 4.
func TestCMAC(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(unhex(t, "2b7e151628aed2a6abf7158809cf4f3c"))
	if err != nil {
		t.Fatal(err)
	}
	text := unhex(t, "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	for n, want := range map[int]string{
		0: "bb1d6929e95937287fa37d129b756746", 16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827", 64: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		if got := cmac(block, text[:n]); hex.EncodeToString(got[:]) != want {
			t.Errorf("%d: %x", n, got)
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestNTOWFv2 checks the example of [MS-NLMP], section 4.2.4.1.1.
func TestNTOWFv2(t *testing.T) {
	t.Parallel()
	if got := ntowfv2(Account{Domain: "Domain", User: "User", Password: "Password"}); hex.EncodeToString(got) != "0c868a403bfd7a93a3001ef22ef02e3f" {
		t.Errorf("%x", got)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{{}, time.Now()} {
		challenge := NTLMChallenge([]byte("12345678"), "HOST", now)
		msg, key, err := NTLMAuthenticate(NTLMNegotiate(), challenge, Account{User: "joe", Password: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		for password, want := range map[string]bool{"secret": true, "Secret": false} {
			user, got, ok := NTLMVerify(msg, challenge, func(string, string) (string, bool) { return password, true })
			if ok != want || user != "joe" || ok && !bytes.Equal(got, key) {
				t.Errorf("%s: %q %x %t", password, user, got, ok)
			}
		}
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dialect, algorithm uint16 }{{Dialect202, 0}, {Dialect300, 0}, {Dialect311, SignCMAC}, {Dialect311, SignGMAC}} {
		s := NewSigner(tt.dialect, tt.algorithm, make([]byte, 16), new(Hash))
		msg := append(Header{Command: Read, MessageID: 7}.Append(nil), "content"...)
		s.Sign(msg)
		if !s.Verify(msg) {
			t.Errorf("%v: the signature is wrong", tt)
		}
		for i := range msg {
			if i >= 4 {
				msg[i] ^= 1
				if s.Verify(msg) {
					t.Errorf("%v: a change of byte %d goes unnoticed", tt, i)
				}
				msg[i] ^= 1
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{UTF16("aé€𝄞"), {0, 0xd8}, {0, 0xdc, 0, 0xd8, 'a', 0}, {}} {
		got, ok := AppendUTF16(nil, Name(b))
		if !ok || !bytes.Equal(got, b) {
			t.Errorf("%x became %q and %x", b, Name(b), got)
		}
	}
	for _, text := range []string{"\xff", "a\xed", "\xc3"} {
		if _, ok := AppendUTF16(nil, text); ok {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	want := []Share{{Name: "a", Remark: "for all"}, {Name: "bü", Type: STypeSpecial}, {}}
	stub, rest, last, ok, err := ParseFragment(ShareResponse(ShareEnumRequest("h"), want))
	if !ok || !last || len(rest) > 0 || err != nil {
		t.Fatal(rest, last, ok, err)
	}
	got, err := ParseShares(stub)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if err := CheckBindAck(ShareResponse(BindRequest(), nil)); err != nil {
		t.Error(err)
	}
}

func TestShareCountIsLimited(t *testing.T) {
	t.Parallel()
	stub, _, _, _, _ := ParseFragment(ShareResponse(nil, []Share{{Name: "a"}}))
	for _, at := range []int{12, 20} {
		copy(stub[at:], []byte{0xff, 0xff, 0xff, 0x7f})
	}
	if _, err := ParseShares(stub); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 800, time.UTC)
	if got := Time(FileTime(now)); !got.Equal(now) {
		t.Error(got)
	}
	if !Time(0).IsZero() || FileTime(time.Time{}) != 0 {
		t.Error("an unknown time is not")
	}
}

var bodies = []Body{&ErrorResponse{}, &NegotiateRequest{}, &NegotiateResponse{}, &SessionSetupRequest{}, &SessionSetupResponse{},
	&TreeConnectRequest{}, &TreeConnectResponse{}, &CreateRequest{}, &CreateResponse{}, &CloseRequest{}, &CloseResponse{}, &ReadRequest{},
	&ReadResponse{}, &QueryDirectoryRequest{}, &QueryDirectoryResponse{}, &IoctlRequest{}, &IoctlResponse{}}

func TestBodySizes(t *testing.T) {
	t.Parallel()
	for _, b := range bodies {
		if got, want := 2+binary.Size(b), int(b.structureSize()&^1); got != want {
			t.Errorf("%T: %d bytes, want %d", b, got, want)
		}
	}
}

func TestBufferOffsets(t *testing.T) {
	t.Parallel()
	for _, b := range bodies {
		msg := Append(nil, Header{}, b, []byte("buffer"))
		got, err := Parse(msg, b)
		if _, ok := b.(locator); err != nil || ok && string(got) != "buffer" {
			t.Errorf("%T: %q, %v", b, got, err)
		}
		if _, err := Parse(msg[:bufferOffset(b.structureSize())-1], b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%T without its last byte: %v", b, err)
		}
		if l, ok := b.(locator); ok {
			if _, err := Parse(msg[:len(msg)-1], b); !errors.Is(err, ErrMalformed) {
				t.Errorf("%T with a buffer that lies outside: %v", b, err)
			}
			l.setExtent(HeaderSize-1, 1)
			if _, err := extentData(msg, l); !errors.Is(err, ErrMalformed) {
				t.Errorf("%T with a buffer in the header: %v", b, err)
			}
		}
	}
}

// FuzzParse parses arbitrary data as each kind of message from a server.
func FuzzParse(f *testing.F) {
	b, at := AppendMember(nil, -1, Member{Name: "a", Size: 1})
	b, _ = AppendMember(b, at, Member{Name: "bc", Attributes: AttributeDirectory})
	f.Add(b)
	f.Add(NTLMChallenge(make([]byte, 8), "HOST", time.Now()))
	f.Add(ServerToken(NTLMChallenge(make([]byte, 8), "HOST", time.Time{})))
	f.Add(ShareResponse(nil, []Share{{Name: "a"}}))
	f.Add(Header{Command: Read}.Append(nil))
	f.Add(Append(nil, Header{}, &ReadResponse{}, []byte("content")))
	f.Add(append(append([]byte("\xfdSMB"), make([]byte, 38)...), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if members, err := ParseMembers(b); err == nil {
			for _, m := range members {
				if _, ok := AppendUTF16(nil, m.Name); !ok {
					t.Errorf("%q cannot be written", m.Name)
				}
			}
		}
		NTLMAuthenticate(NTLMNegotiate(), b, Account{})
		if token, err := NTLMToken(b); err == nil {
			NTLMAuthenticate(NTLMNegotiate(), token, Account{})
		}
		if stub, rest, _, ok, err := ParseFragment(b); err == nil && ok {
			if len(stub)+len(rest) >= len(b) {
				t.Error("a fragment of nothing")
			}
			ParseShares(stub)
		}
		ParseShares(b)
		ParseHeader(b)
		for _, body := range bodies {
			Parse(b, reflect.New(reflect.TypeOf(body).Elem()).Interface().(Body))
		}
		for at := range uint32(len(b)) {
			ParseContexts(b, at, 3)
		}
		if s, err := NewSealer(Dialect311, CipherAES128CCM, 0, make([]byte, 16), new(Hash)); err != nil {
			t.Error(err)
		} else if _, err := s.Open(bytes.Clone(b)); !isForged(err) {
			t.Errorf("a message without a key: %v", err)
		}
	})
}
