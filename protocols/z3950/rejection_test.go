package z3950

import (
	"errors"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/internal/codec/ber"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

// rejected returns an InitializeResponse that rejects a session with a diagnostic of Bib-1.
func rejected(code int64, text string) []byte {
	oid, _ := ber.OIDContent(codec.DiagBib1)
	m := codec.Init{Version: 3, Options: []int{0}}.EncodeResponse()
	reason := ber.Field(11, ber.Sequence(ber.Bytes(ber.Universal, ber.TagOID, oid),
		ber.Bytes(ber.Universal, ber.TagInteger, []byte{byte(code >> 8), byte(code)}),
		ber.Bytes(ber.Universal, ber.TagGeneralString, []byte(text))))
	m[1] += byte(len(reason)) // the length of a short message
	return append(m, reason...)
}

// TestReasonsOfRejectedSessions checks that a server that is busy is not sent a login, and that errors and
// records repeat the server's reason without the password.
func TestReasonsOfRejectedSessions(t *testing.T) {
	t.Parallel()
	accepted := codec.Init{Version: 3, Options: []int{0, 1}, PreferredMessageSize: 1, ExceptionalRecordSize: 1, Accepted: true}
	echo := accepted
	echo.Name = "for s3cret"
	for name, tt := range map[string]struct {
		conns [][][]byte
		code  fetch.Code
		retry bool
		want  string
	}{
		"no resources":         {[][][]byte{{rejected(codec.NoResources, "come back")}}, fetch.ErrBusy, true, "come back"},
		"maintenance":          {[][][]byte{{rejected(codec.InMaintenance, "at night")}}, fetch.ErrBusy, true, "at night"},
		"goodbye":              {[][][]byte{{codec.Close{Reason: codec.CloseResources, Text: "full"}.Encode()}}, fetch.ErrBusy, true, "full"},
		"a wrong password":     {[][][]byte{{rejected(codec.BadUser, "who?")}, {rejected(codec.BadPassword, "not s3cret")}}, fetch.ErrAuth, false, "not ****"},
		"busy after the login": {[][][]byte{{rejected(codec.BadUser, "who?")}, {rejected(codec.InMaintenance, "s3cret waits")}}, fetch.ErrBusy, true, "**** waits"},
		"goodbye to the login": {[][][]byte{{rejected(codec.BadUser, "who?")}, {codec.Close{Reason: codec.CloseShutdown, Text: "bye s3cret"}.Encode()}}, fetch.ErrBusy, true, "bye ****"},
		"repeated by a search": {[][][]byte{{rejected(codec.BadUser, "who?")}, {echo.EncodeResponse(), codec.SearchResponse{Diagnostics: []codec.Diagnostic{{Set: codec.DiagBib1, Code: codec.BadPassword, AddInfo: "s3cret"}}}.Encode()}}, fetch.ErrAuth, false, "****"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rec fetchtest.Recording
			c := fetch.New(&fetch.Options{Recorder: &rec}, With(Options{AllowPlaintext: true}))
			defer c.Close()
			_, err := drive.Get(t, c, "z39.50r://joe:s3cret@"+serveEach(t, tt.conns)+"/db?id")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Retry != tt.retry || !strings.Contains(e.Message(), tt.want) {
				t.Errorf("%v, want %q of class %q, retry %t", err, tt.want, tt.code, tt.retry)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(sentOf(&rec), "s3cret") {
				t.Errorf("the error or the trace has the password: %v\n%s", err, sentOf(&rec))
			}
		})
	}
}

// TestReasonsInListings checks that diagnostics among the records of a listing do not repeat the password.
func TestReasonsInListings(t *testing.T) {
	t.Parallel()
	refused := codec.Diagnostic{Set: codec.DiagBib1, Code: codec.RecordNotAuthorized, AddInfo: "not with s3cret"}
	accepted := codec.Init{Version: 3, Options: []int{0, 1}, PreferredMessageSize: 1, ExceptionalRecordSize: 1, Accepted: true}.EncodeResponse()
	server := serveEach(t, [][][]byte{{rejected(codec.BadUser, "who?")}, {accepted, codec.SearchResponse{Count: 2, OK: true}.Encode(),
		codec.EncodePresentResponse(0, 2, [][]byte{codec.NamePlusRecord{Database: "db", Diagnostic: &refused}.Encode()}),
		codec.EncodePresentDiagnostic(refused)}})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	var names []string
	var failure error
	for e, err := range c.List(t.Context(), "z39.50s://joe:s3cret@"+server+"/db?id") {
		if failure = err; err == nil {
			names = append(names, e.Name)
		}
	}
	if len(names) != 1 || !strings.Contains(names[0], "not with ****") {
		t.Errorf("entries %q", names)
	}
	if !errors.Is(failure, fetch.ErrRefused) || !strings.Contains(failure.Error(), "not with ****") {
		t.Errorf("error %v", failure)
	}
}
