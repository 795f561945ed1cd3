package protocols_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/cso"
	"github.com/urlget/urlget/protocols/dict"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/ftp/listing"
	"github.com/urlget/urlget/protocols/gopher"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/ipfs"
	"github.com/urlget/urlget/protocols/ldap"
	"github.com/urlget/urlget/protocols/mailto"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/rsync"
	"github.com/urlget/urlget/protocols/s3"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/smb"
	"github.com/urlget/urlget/protocols/wais"
	"github.com/urlget/urlget/protocols/z3950"
)

var id = uint32(1000)

// records are the records of all drivers, full and empty, with their facts as JSON.
var records = []struct {
	record fetch.EntryRecord
	want   string
}{
	{cso.Record{Record: 1, Fields: []cso.Field{{Name: "a", Value: "<b>"}, {Name: "c", Value: "d", Error: true}}},
		`"cso":{"record":1,"fields":[{"name":"a","value":"<b>"},{"name":"c","value":"d","error":true}]}`},
	{cso.Record{},
		`"cso":{"record":0,"fields":null}`},
	{dict.Definition{Word: "a", Database: "b", Description: "c"},
		`"dict":{"word":"a","database":"b","description":"c"}`},
	{dict.Definition{},
		`"dict":{"word":"","database":"","description":""}`},
	{dict.Match{Database: "a", Word: "b"},
		`"dict":{"database":"a","word":"b"}`},
	{dict.Match{},
		`"dict":{"database":"","word":""}`},
	{dict.Database{Name: "a", Description: "b"},
		`"dict":{"name":"a","description":"b"}`},
	{dict.Database{},
		`"dict":{"name":"","description":""}`},
	{file.Member{Mode: "-rw-r--r--", Target: "a"},
		`"file":{"mode":"-rw-r--r--","target":"a"}`},
	{file.Member{},
		`"file":{}`},
	{listing.Entry{Name: "a", Kind: listing.File, Size: 1, ModTime: time.Unix(1, 5e8).UTC(), Target: "b", Mode: "-rw-r--r--",
		Facts: map[string]string{"type": "file", "size": "1"}, Raw: "c"},
		`"ftp":{"name":"a","kind":"file","size":1,"mtime":"1970-01-01T00:00:01.5Z","target":"b","mode":"-rw-r--r--","facts":{"size":"1","type":"file"},"raw":"c"}`},
	{listing.Entry{},
		`"ftp":{"name":"","kind":"","size":0,"raw":""}`},
	{ipfs.Sys{CID: "a", Target: "b"},
		`"ipfs":{"cid":"a","target":"b"}`},
	{ipfs.Sys{},
		`"ipfs":{"cid":""}`},
	{gopher.Item{Type: "0", Selector: "/a", Host: "h", Port: 70, Extras: []string{"+"},
		Attributes: []gopher.Attribute{{Name: "A", Value: "b", Lines: []string{"c"}}, {}}},
		`"gopher":{"type":"0","selector":"/a","host":"h","port":70,"extras":["+"],"attributes":[{"name":"A","value":"b","lines":["c"]},{"name":""}]}`},
	{gopher.Item{},
		`"gopher":{"type":"","selector":"","host":"","port":0}`},
	{http.Sys{ETag: `"a"`},
		`"webdav":{"etag":"\"a\""}`},
	{http.Sys{},
		`"webdav":{}`},
	{imap.Message{UID: 1, Subject: "a", Date: "b", ID: "<c@d>"},
		`"imap":{"uid":1,"subject":"a","date":"b","message_id":"<c@d>"}`},
	{imap.Message{},
		`"imap":{"uid":0}`},
	{ldap.Entry{DN: "o=a"},
		`"ldap":{"dn":"o=a"}`},
	{ldap.Entry{},
		`"ldap":{"dn":""}`},
	{mailto.Message{MessageID: "<a@b>", From: "a", To: "b", Subject: "c", Date: "d", Mailbox: "e"},
		`"mailto":{"message_id":"<a@b>","from":"a","to":"b","subject":"c","date":"d","mailbox":"e"}`},
	{mailto.Message{},
		`"mailto":{"message_id":"","from":"","to":"","subject":"","date":"","mailbox":""}`},
	{nfs.Sys{Mode: "-rw-r--r--", UID: &id, GID: &id, Target: "a"},
		`"nfs":{"mode":"-rw-r--r--","uid":1000,"gid":1000,"target":"a"}`},
	{nfs.Sys{},
		`"nfs":{}`},
	{s3.Sys{ETag: `"a"`, StorageClass: "STANDARD"},
		`"s3":{"etag":"\"a\"","storage_class":"STANDARD"}`},
	{s3.Sys{},
		`"s3":{}`},
	{nntp.Group{Name: "a.b", Low: 1, High: 3, Count: 2, Status: "y", Description: "c"},
		`"nntp":{"name":"a.b","low":1,"high":3,"count":2,"status":"y","description":"c"}`},
	{nntp.Group{},
		`"nntp":{"name":"","low":0,"high":0,"count":0,"status":""}`},
	{nntp.Overview{Number: 1, Subject: "a", From: "A <a@b>", Date: "c", MessageID: "<d@e>", References: []string{"<f@g>"},
		Bytes: 2, Lines: 3, Xref: "h"},
		`"nntp":{"number":1,"subject":"a","from":"A <a@b>","date":"c","message_id":"<d@e>","references":["<f@g>"],"bytes":2,"lines":3,"xref":"h"}`},
	{nntp.Overview{Bytes: -1, Lines: -1},
		`"nntp":{"number":0,"subject":"","from":"","date":"","message_id":"","bytes":-1,"lines":-1}`},
	{pop.Message{Number: 1, UID: "a"},
		`"pop":{"number":1,"uid":"a"}`},
	{pop.Message{},
		`"pop":{"number":0}`},
	{prospero.Link{Target: "FILE", Union: true, Name: "a", Host: "b", HSOName: "c", Version: "1",
		Attributes: map[string][]string{"E": {"f"}, "D": {"g", "h"}}, Access: [][]string{{"AFTP", "i"}}},
		`"prospero":{"target":"FILE","union":true,"name":"a","host":"b","hsoname":"c","version":"1","attributes":{"D":["g","h"],"E":["f"]},"access":[["AFTP","i"]]}`},
	{prospero.Link{},
		`"prospero":{"target":"","name":"","host":"","hsoname":""}`},
	{rsync.Sys{Mode: "Lrwxrwxrwx", Target: "a", Comment: "b"},
		`"rsync":{"mode":"Lrwxrwxrwx","target":"a","comment":"b"}`},
	{rsync.Sys{},
		`"rsync":{}`},
	{sftp.Sys{Mode: "-rw-r--r--", UID: &id, GID: &id, Target: "a"},
		`"sftp":{"mode":"-rw-r--r--","uid":1000,"gid":1000,"target":"a"}`},
	{sftp.Sys{UID: new(uint32)},
		`"sftp":{"uid":0}`},
	{smb.Sys{Attributes: "rh", Remark: "a"},
		`"smb":{"attributes":"rh","remark":"a"}`},
	{smb.Sys{},
		`"smb":{}`},
	{wais.Hit{Score: 1000, Lines: 1, Types: []string{"TEXT"}, Headline: "a", Date: "930101", Source: "b", City: "c", Database: "d"},
		`"wais":{"score":1000,"lines":1,"types":["TEXT"],"headline":"a","date":"930101","source":"b","city":"c","database":"d"}`},
	{wais.Hit{},
		`"wais":{"score":0,"lines":0,"headline":""}`},
	{z3950.Hit{Position: 1, Database: "a", Syntax: "usmarc", Author: "b"},
		`"z3950":{"position":1,"database":"a","syntax":"usmarc","author":"b"}`},
	{z3950.Hit{},
		`"z3950":{"position":0}`},
	{z3950.Database{Name: "a"},
		`"z3950":{"name":"a"}`},
	{z3950.Database{},
		`"z3950":{"name":""}`},
	{z3950.Term{Records: -1},
		`"z3950":{"records":-1}`},
	{z3950.Term{},
		`"z3950":{"records":0}`},
}

// Programs read facts by name, and archives contain them.
func TestFactsOfEntries(t *testing.T) {
	t.Parallel()
	// Bool and composite types are only used as JSON.
	kinds := []reflect.Kind{reflect.String, reflect.Int64, reflect.Uint64, reflect.Bool, reflect.Slice, reflect.Map, reflect.Struct}
	for _, tt := range records {
		facts := (&fetch.Entry{Sys: tt.record}).Facts()
		var own strings.Builder
		enc := json.NewEncoder(&own)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(facts); err != nil {
			t.Fatal(err)
		}
		for _, fact := range tt.record.EntryFacts().List {
			if typ := reflect.TypeOf(fact.Value); typ != nil && !slices.Contains(kinds, typ.Kind()) {
				t.Errorf("%T: %s is of type %s", tt.record, fact.Name, typ)
			}
		}
		if got := fmt.Sprintf("%q:%s", facts.Driver, strings.TrimSpace(own.String())); got != tt.want {
			t.Errorf("%T: %s, want %s", tt.record, got, tt.want)
		}
	}
}

// Each type of a driver with facts is in the table above.
func TestEveryRecordHasAFactsTest(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for _, r := range records {
		tested[strings.TrimPrefix(reflect.TypeOf(r.record).PkgPath(), "github.com/urlget/urlget/protocols/")+
			reflect.TypeOf(r.record).String()] = true
	}
	method := regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)\) EntryFacts\(`)
	found := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range method.FindAllSubmatch(text, -1) {
			dir := filepath.ToSlash(filepath.Dir(name))
			if found++; !tested[dir+path.Base(dir)+"."+string(m[1])] {
				t.Errorf("%s: the facts of %s are not tested", name, m[1])
			}
		}
		return err
	})
	if err != nil || found != len(tested) {
		t.Errorf("found %d types of %d, %v", found, len(tested), err)
	}
}
