package fika_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"fika"
)

func TestEntryJSON(t *testing.T) {
	e := fika.Entry{
		Seq: 7, ID: "id-1", At: time.UnixMilli(1234567890123).UTC(), From: "arya", To: "design", Content: "hi <b>", Type: fika.Message,
		Request: "r1", Depth: 3, Chain: "root",
		Meta: fika.EntryMeta{Writer: fika.ByAgent, ToolCallID: "c1", Usage: &fika.Usage{Input: 5}, Reasoning: "why"},
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	six := `{"id":"id-1","timestamp":1234567890,"from":"arya","to":"design",`
	if !strings.HasPrefix(string(data), six) {
		t.Errorf("the six fields come first and exact:\n%s", data)
	}
	var back fika.Entry
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e, back) {
		t.Errorf("read back\n%+v\nwritten\n%+v", back, e)
	}
	foreign := `{"id":"uuid1","timestamp":1234567890,"from":"alice","to":"default","content":"Hello","entry_type":"message"}`
	if err := json.Unmarshal([]byte(foreign), &back); err != nil || back.Content != "Hello" || back.At.Unix() != 1234567890 {
		t.Errorf("six fields alone: %+v, %v", back, err)
	}
}
