{{/* Names: short enough for what is put behind them. */}}
{{- define "dgrag.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{/* Of one part: (list $ "cloud"). */}}
{{- define "dgrag.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "dgrag.labels" -}}
{{ include "dgrag.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
{{- end }}

{{/* What a part runs: (list $ "cloud"). */}}
{{- define "dgrag.image" -}}
{{- $image := (index . 0).Values.image }}
{{- $name := get $image (index . 1) }}
{{- with get $image.digest (index . 1) }}{{ $name }}@{{ . }}{{ else }}{{ $name }}:{{ $image.tag | default (index $ 0).Chart.AppVersion }}{{ end -}}
{{- end }}

{{- define "dgrag.secrets" -}}
{{ .Values.secrets.existing | default (printf "%s-secrets" (include "dgrag.name" .)) }}
{{- end }}

{{- define "dgrag.model" -}}
{{- if .Values.vllm.enabled }}http://{{ include "dgrag.name" . }}-vllm:8000/v1
{{- else }}{{ required "model.url: name an OpenAI-compatible server, or set vllm.enabled" .Values.model.url }}{{ end -}}
{{- end }}

{{/* Not empty: the Secret has a way to PostgreSQL itself, beside the pooler that database-url names. */}}
{{- define "dgrag.notices" -}}
{{- with .Values.postgresql }}
{{- if and .bundled .external.notices.enabled }}{{ fail "postgresql.external.notices: the bundled PostgreSQL has no pooler before it, so set postgresql.bundled to false or notices.enabled to false" }}{{ end }}
{{- if .external.notices.enabled }}true{{ end }}
{{- end }}
{{- end }}

{{/* What any container of ours may do: little. */}}
{{- define "dgrag.confined" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- end }}

{{- define "dgrag.user" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch # else each mount would let the group read private keys, which are then refused
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* On as many nodes as there are: (list $ "cloud"). */}}
{{- define "dgrag.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "dgrag.selector" . | nindent 6 }}
{{- end }}

{{/* Connections that PostgreSQL has to take: 14 of each cloud, of one more during a rollout, and some for people and backups. */}}
{{- define "dgrag.connections" -}}
{{- with .Values.cloud }}{{ add 20 (mul 14 (add 1 (ternary .autoscaling.max .replicas .autoscaling.enabled))) }}{{ end -}}
{{- end }}
